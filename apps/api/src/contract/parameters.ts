/** A coin ticker as the path may have it, in any letter case. */
export const SYMBOL = /^[A-Za-z0-9]{1,20}$/

/** How many of a history's newest rows a caller may ask for. */
export const DAYS = { minimum: 1, maximum: 3_650, default: 365 } as const
