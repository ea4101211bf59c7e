import { getEventListeners, once } from 'node:events'
import { performance } from 'node:perf_hooks'
import t from 'tap'
import { systemClock } from '../src/system-clock.ts'

t.test('waits for at least the time given, with or without a signal', async t => {
  const begun = performance.now()
  await Promise.all([systemClock.wait(30), systemClock.wait(30, new AbortController().signal)])
  t.ok(performance.now() - begun >= 29, 'timers may round a millisecond down')
})

t.test('resolves early and without an error when the signal aborts', async t => {
  const controller = new AbortController()
  const waiting = systemClock.wait(600_000, controller.signal)
  controller.abort(new Error('any reason'))
  t.equal(await waiting, undefined)
  t.equal(await systemClock.wait(600_000, controller.signal), undefined, 'aborted before it began')
})

t.test('leaves no listener on a signal that outlives many waits, and warns of none', async t => {
  const { signal } = new AbortController()
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  for (let round = 0; round < 100; round++) await systemClock.wait(-1, signal)
  await Promise.all(Array.from({ length: 10 }, () => systemClock.wait(1, signal)))
  t.equal(getEventListeners(signal, 'abort').length, 0)
  const marker = once(process, 'warning')
  process.emitWarning('marker') // warnings arrive in order, so any leak warning would be here by now
  await marker
  t.strictSame(
    warnings.map(({ message }) => message),
    ['marker'],
  )
})
