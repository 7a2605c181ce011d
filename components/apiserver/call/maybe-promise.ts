/**
 * What is usually there at once, and takes time only where a webhook converts or admits an object, or a large object is
 * worked on in steps. It is not simply awaited: `await` lets other requests run even if there is nothing to wait for.
 * A read would not be answered in the turn in which it came, and between what a write has checked and its place in the
 * store another write could come.
 */
export type MaybePromise<T> = T | Promise<T>

/** Whether something takes time. In an async function: `isPending(value) ? await value : value`. */
export const isPending = <T>(value: MaybePromise<T>): value is Promise<T> => value instanceof Promise

/** Passes a value to `proceed`: in this turn if it is there at once. */
export function whenReady<T, R>(value: MaybePromise<T>, proceed: (value: T) => Promise<R>): Promise<R>
export function whenReady<T, R>(value: MaybePromise<T>, proceed: (value: T) => MaybePromise<R>): MaybePromise<R>
export function whenReady<T, R>(value: MaybePromise<T>, proceed: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPending(value) ? value.then(proceed) : proceed(value)
}
