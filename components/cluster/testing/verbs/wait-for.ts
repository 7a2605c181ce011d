import { isNotFound } from "../../../../pkg/apimachinery/errors.ts"
import { parseJsonPath } from "../../../../pkg/apimachinery/table/jsonpath.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { TestClusterError } from "../caller.ts"
import { refOf, type Reference } from "./selection.ts"
import type { TestClient } from "./test-client.ts"

/**
 * A condition of `kubectl wait --for`: `condition=Ready`, `condition=Ready=False`, `jsonpath={.status.phase}=Running`,
 * `jsonpath={.status.podIP}`, `create`, `delete`.
 */
export type WaitCondition = "create" | "delete" | `condition=${string}` | `jsonpath=${string}`

/**
 * Returns why an object does not meet a condition; undefined when it does. `object` is undefined when it does not
 * exist.
 */
export type Unmet<T> = (object: T | undefined) => string | undefined

/** The fields of objects with conditions that are read here. */
interface WithConditions {
  readonly status?: {
    readonly observedGeneration?: number
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
      readonly observedGeneration?: number
    }[]
  }
}

const JSONPATH = /^jsonpath=(?:'?(\{.*\})'?|([^{}=]+))(?:=(.*))?$/s
const CONDITION = /^condition=([^=]+)(?:=(.+))?$/

/** Parses a condition. Source: kubectl pkg/cmd/wait. @throws TestClusterError when it is invalid */
export function parseCondition<T extends KubeObject>(condition: string): Unmet<T> {
  if (condition === "create") return (object) => (object === undefined ? "it does not exist" : undefined)
  const [, type, status = "True"] = CONDITION.exec(condition) ?? []
  if (type !== undefined) return (object) => unmetCondition(object, type, status)
  const [, braced, relaxed, wanted] = JSONPATH.exec(condition) ?? []
  const path = braced ?? relaxed
  if (path !== undefined) return unmetPath(path, wanted)
  throw new TestClusterError(
    `Cannot wait for ${JSON.stringify(condition)}: expected "condition=Ready", "condition=Ready=False", ` +
      `"jsonpath={.status.phase}=Running", "create" or "delete"`,
  )
}

function unmetCondition(object: KubeObject | undefined, type: string, wanted: string): string | undefined {
  if (object === undefined) return "it was deleted"
  const { status } = object as WithConditions
  const found = status?.conditions?.find((one) => equalFold(one.type, type))
  if (found === undefined) return `it has no condition ${type}`
  // A condition of an earlier generation says nothing about the current one.
  const observed = found.observedGeneration ?? status?.observedGeneration
  const { generation } = object.metadata
  if (observed !== undefined && generation !== undefined && observed < generation)
    return `its condition ${type} is of generation ${observed}, and it is at ${generation}`
  if (equalFold(found.status, wanted)) return undefined
  const why = [found.reason, found.message].filter((part) => part !== undefined && part !== "").join(": ")
  return `its condition ${type} is ${found.status}${why === "" ? "" : ` (${why})`}`
}

function unmetPath(path: string, wanted: string | undefined): Unmet<KubeObject> {
  const values = jsonPath(path)
  return (object) => {
    if (object === undefined) return "it was deleted"
    const found = values(object)
    if (found.length === 0) return `it has no ${path}`
    if (found.length > 1) throw new TestClusterError(`${path} matches more than one value`)
    const [value] = found
    if (wanted === undefined) return undefined
    if (typeof value === "object")
      throw new TestClusterError(`${path} leads to an object or a list, which cannot be compared with text`)
    return String(value).trim() === wanted.trim() ? undefined : `its ${path} is ${JSON.stringify(value)}`
  }
}

function jsonPath(path: string) {
  try {
    // Without braces the dot at the beginning may be left out.
    return parseJsonPath(/^[{.[]/.test(path) ? path : `.${path}`)
  } catch (err) {
    throw new TestClusterError(errorMessage(err), { cause: err })
  }
}

const equalFold = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/**
 * Returns a check that throws why an object does not meet a condition yet, with the object as last seen.
 * @param first the object at the beginning of the wait: one with another uid is a different object
 */
export function conditionCheck<T extends KubeObject>(
  resource: Resource<T>,
  ref: Reference,
  condition: WaitCondition,
  first: T | undefined,
  client: TestClient,
): { readonly check: () => Promise<true>; readonly seen: () => T | undefined } {
  const unmet: Unmet<T> =
    condition === "delete"
      ? (object) =>
          object === undefined || first === undefined || object.metadata.uid !== first.metadata.uid
            ? undefined
            : "it is " +
              `there${object.metadata.deletionTimestamp === undefined ? "" : `, being deleted${finalizersOf(object)}`}`
      : parseCondition(condition)
  const { name, namespace } = refOf(resource, ref)
  const what = `${resource.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`
  let seen: T | undefined
  return {
    seen: () => seen,
    check: async () => {
      seen = await found(client, resource, ref)
      const why = unmet(seen)
      if (why !== undefined) throw new TestClusterError(`${what} does not meet ${JSON.stringify(condition)}: ${why}`)
      return true
    },
  }
}

const finalizersOf = ({ metadata: { finalizers = [] } }: KubeObject): string =>
  finalizers.length === 0 ? "" : `; finalizers: ${finalizers.join(", ")}`

/** Returns the object; undefined when it does not exist. */
async function found<T extends KubeObject>(
  client: TestClient,
  resource: Resource<T>,
  ref: Reference,
): Promise<T | undefined> {
  try {
    return await client.get(resource, ref)
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}
