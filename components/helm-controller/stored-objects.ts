import type { Clock } from "../../pkg/clock/clock.ts"
import { nextTurn } from "../../pkg/clock/next-turn.ts"
import type { Release } from "../../pkg/helm/release.ts"
import { objectsIn, type Wanted } from "./cluster-objects.ts"
import type { ResourceOf } from "./config.ts"

/** The most objects of a stored release. */
const MOST_DOCUMENTS = 10_000
/** No object with a longer text can have been created: it would be beyond the limit of a request. */
const LONGEST_DOCUMENT = 3 * 2 ** 20
/** How much text is read in one turn of the event loop, and how many documents. */
const CHARACTERS_OF_TURN = 2 ** 18
const DOCUMENTS_OF_TURN = 200

/**
 * Returns the objects of a stored release; those of kinds that are gone are left out. Whoever may write the Secrets of
 * releases may have written it, so it is read in steps.
 * @param namespace of objects that name none
 * @throws Error where it has too many documents
 */
export async function storedObjects(
  { manifest }: Pick<Release, "manifest">,
  namespace: string,
  { resourceOf, clock }: { readonly resourceOf: ResourceOf; readonly clock: Clock },
): Promise<readonly Wanted[]> {
  const found: Wanted[] = []
  let [count, read] = [0, 0]
  for (const document of documentsOf(manifest)) {
    if (++count > MOST_DOCUMENTS) throw new Error(`the stored release has more than ${MOST_DOCUMENTS} documents`)
    if (document.length > LONGEST_DOCUMENT) continue
    try {
      for (const object of objectsIn(document, namespace, resourceOf)) found.push(object)
    } catch {
      // Its kind is gone, or it is none.
    }
    read += document.length
    if (read < CHARACTERS_OF_TURN && count % DOCUMENTS_OF_TURN !== 0) continue
    read = 0
    await nextTurn(clock)
  }
  return found
}

function* documentsOf(manifest: string): Generator<string> {
  let begin = 0
  for (const { index, 0: mark } of manifest.matchAll(/^---$/gm)) {
    yield manifest.slice(begin, index)
    begin = index + mark.length
  }
  yield manifest.slice(begin)
}
