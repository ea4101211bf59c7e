/** The parsed JSON answer of a GET with its status, or undefined when there is no response. */
export async function getJson<T>(url: string): Promise<{ status: number; body: T } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    return { status: response.status, body: (await response.json()) as T }
  } catch {
    return undefined
  }
}
