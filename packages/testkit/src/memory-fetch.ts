import type { MemorySimulator } from '@kimchi/simulator'

type Found = NonNullable<ReturnType<MemorySimulator['answer']>>

/** As `fetch`, but asks a simulator of this process, without a socket. */
export function fetchFrom({ answer }: Pick<MemorySimulator, 'answer'>): typeof fetch {
  return async (input, init) => {
    const found = answer(new URL(String(input)))
    if (found !== undefined) return responseOf(found)
    return new Promise((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true })
    })
  }
}

/** What the service reads of a response. */
export function responseOf({ status, headers, text }: Omit<Found, 'body'>): Response {
  const body = [Buffer.from(text)]
  return { status, ok: status < 300, headers: new Headers(headers), body } as unknown as Response
}
