import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createFolder, followProgram, type Teardown } from '@kimchi/testkit'

/** A browser that is driven by WebDriver: what a test needs of it. */
export interface Engine {
  open(url: string): Promise<void>
  /** The value of a script's `return`, as JSON. */
  run<T>(script: string): Promise<T>
  /** Gives the page's window this width, with its borders. */
  resize(width: number): Promise<void>
}

/** The commands of classic WebDriver that an engine is driven with, whichever way they are sent. */
interface Commands {
  navigate(url: string): Promise<unknown>
  execute(script: string): Promise<unknown>
  setRect(width: number, height: number): Promise<unknown>
}

const HEIGHT = 900

export function engineOf({ navigate, execute, setRect }: Commands): Engine {
  return {
    open: async url => void (await navigate(url)),
    run: async <T>(script: string) => (await execute(script)) as T,
    resize: async width => void (await setRect(width, HEIGHT)),
  }
}

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
