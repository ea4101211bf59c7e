/**
 * The wanted port when it is free. A taken default is replaced by a free port, and that is said; a taken port that was
 * asked for by name is an error. To be called after the build.
 * @param {string} name what the port is for, as its variable is called
 * @param {string | undefined} asked the port somebody asked for
 * @param {number} preferred the default
 * @param {(line: string) => void} say
 * @returns {Promise<number>}
 */
export async function pickPort(name, asked, preferred, say) {
  const { freePort, isPortFree } = await import('@kimchi/local-redis')
  if (asked) {
    const port = Number(asked)
    if (!/^\d+$/.test(asked) || port > 65_535)
      throw new Error(`${name} must be an integer from 0 to 65535, got: ${asked}`)
    if (port === 0) return freePort()
    if (!(await isPortFree(port)))
      throw new Error(`${name}=${asked} is taken; end what listens there or choose another`)
    return port
  }
  if (await isPortFree(preferred)) return preferred
  const port = await freePort()
  say(`Port ${preferred} is taken; using ${port} for ${name}.`)
  return port
}
