/** Values of `Retry-After` as they were met, and the seconds that each of them states; undefined for none. */
export function retryAfterCases(
  now: number,
): readonly (readonly [header: string, seconds: number | undefined])[] {
  const secondsSince1970 = Math.floor(now / 1_000)
  const inAMinute = new Date(now + 60_000)
  const [weekday = '', day, month, year = '', time] = inAMinute.toUTCString().split(/,? /)
  const longWeekday = inAMinute.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })
  return [
    ['7', 7],
    ['1.5', 2],
    ['0.2', 1],
    ['120', 120],
    [`${secondsSince1970 + 60}`, 60],
    [`${secondsSince1970 + 59}.5`, 60],
    [inAMinute.toUTCString(), 60],
    [`${longWeekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`, 60],
    [`${weekday} ${month} ${day?.replace(/^0/, ' ')} ${time} ${year}`, 60],
    ...['', '0', '-1', '-0.5', '+5', '12/25', '1e3', '0x10', '5 s', '.5', '5.', '1,5', '5, 7', 'soon'].map(
      nothing,
    ),
    ...['Infinity', 'NaN', '9'.repeat(30), '9'.repeat(400)].map(nothing),
    ...['2026-11-20', '12:01', '20 Nov', 'Fri', 'Fri, 20 Nov 2026', inAMinute.toISOString()].map(nothing),
    ...[inAMinute.toString(), inAMinute.toUTCString().replace('GMT', '+0900')].map(nothing),
    ...[-60, 4 * 86_400].map(seconds => nothing(`${secondsSince1970 + seconds}`)),
    ...[-60, 4 * 86_400].map(seconds => nothing(new Date(now + 1_000 * seconds).toUTCString())),
    nothing(`${now + 60_000}`),
  ]
}

function nothing(header: string): readonly [string, undefined] {
  return [header, undefined]
}
