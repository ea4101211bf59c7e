import type { Sample } from '@kimchi/core'
import type { SampleWriter } from '@kimchi/store'

/** How samples from candles reach Redis; none at all still show whether it takes our kind of prices. */
export function writeSamplesTo(
  writer: Pick<SampleWriter, 'write'>,
): (samples: readonly Sample[]) => Promise<void> {
  return async samples => {
    // Readers are told the newest of them.
    await writer.write({ minute: Math.max(0, ...samples.map(({ minute }) => minute)), samples })
  }
}
