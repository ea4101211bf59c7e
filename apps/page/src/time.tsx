import { utcMs } from '@kimchi/client'
import { useView } from './view.ts'

/** A time of the API on the reader's clock; its title is the time in UTC. */
export function Time({ at }: { at: string }) {
  const { f, now } = useView()
  const ms = utcMs(at)
  return (
    <time dateTime={`${at}Z`} title={f.utc(ms, now)}>
      {f.time(ms, now)}
    </time>
  )
}
