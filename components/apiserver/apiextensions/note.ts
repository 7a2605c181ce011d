/** Notes that work on a custom object is in hand, while it runs. */
export type Note = <T>(work: () => T) => T

export const unnoted: Note = (work) => work()
