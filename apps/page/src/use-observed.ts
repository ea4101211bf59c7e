import { useEffect, useState } from 'preact/hooks'

/** A value of the browser, read again at each event that tells of a change. */
export function useObserved<T>(target: EventTarget, event: string, read: () => T): T {
  const [value, setValue] = useState(read)
  useEffect(() => {
    const follow = () => setValue(read)
    target.addEventListener(event, follow)
    return () => target.removeEventListener(event, follow)
  }, [target, event])
  return value
}
