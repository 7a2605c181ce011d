import { didYouMean } from "../../../../pkg/names/suggest.ts"
import { TestClusterError } from "../caller.ts"

/**
 * Checks the names of options.
 * @param what the beginning of the error: `startCluster has no option`
 * @param known an object with every name that is known
 * @throws TestClusterError with the first unknown name, and what it most likely means
 */
export function checkOptionNames(what: string, given: object | undefined, known: object): void {
  const names = Object.keys(known)
  const wrong = Object.keys(given ?? {}).find((name) => !names.includes(name))
  if (wrong !== undefined)
    throw new TestClusterError(
      `${what} ${JSON.stringify(wrong)}${didYouMean(wrong, names) || `: expected ${names.join(", ")}`}`,
    )
}
