import { didYouMean } from "./suggest.ts"

/**
 * Checks that every name is known.
 * @param what the word for one of them: `controller`
 * @throws Error with the first unknown name, and what it most likely means
 */
export function checkKnown(what: string, names: Iterable<string>, known: readonly string[]): void {
  for (const name of names)
    if (!known.includes(name))
      throw new Error(
        `There is no ${what} ${JSON.stringify(name)}${didYouMean(name, known) || `: there are ${known.join(", ")}`}`,
      )
}
