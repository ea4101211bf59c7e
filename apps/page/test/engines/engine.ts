import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createFolder, followProgram, type Teardown } from '@kimchi/testkit'

/** A browser that is driven by WebDriver: what a test needs of it. */
export interface Engine {
  open(url: string): Promise<unknown>
  /** The value of a script's `return`, as JSON. */
  run<T>(script: string): Promise<T>
  /** Gives the page's window this width, with its borders, and {@link HEIGHT}. */
  resize(width: number): Promise<unknown>
}

export const HEIGHT = 900

/** The first of these files that is here. */
export const findFile = (...paths: readonly string[]) => paths.find(path => existsSync(path))

/** Starts a program that lives no longer than the test, with a home of its own. */
export async function startOwn(
  t: Teardown,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const home = await createFolder(t)
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const running = followProgram(child, program)
  t.teardown(() => running.end('SIGKILL'))
  return running
}
