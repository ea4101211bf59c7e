declare module 'fs-native-extensions' {
  /** Locks the whole file for writing, without waiting; false while another open file holds it. */
  export function tryLock(fd: number): boolean
}
