/**
 * Why an object is not well: `k3ts why`. Knows only the API, which it reads as the user who asks; works with any
 * Kubernetes. Each kind has a doctor (`doctors.ts`); a walk goes from the object that was asked about through its
 * owners and needs to the cause.
 */
import type { Answer, ObjectRef } from "./answer.ts"
import { Reader, type WhyApi } from "./reading/reader.ts"
import { refTo } from "./reading/kinds.ts"
import { Walk } from "./walk.ts"

/** Returns why an object is not well. @throws CannotRead where even it cannot be read */
export const why = (api: WhyApi, object: ObjectRef): Promise<Answer> => new Walk(new Reader(api)).answer(object)

/** Returns why a pod does not reach a Service or another pod at `port`, where that is left out at all ports of the target. */
export async function whyNot(api: WhyApi, object: ObjectRef, from: ObjectRef, port?: number): Promise<Answer> {
  const reader = new Reader(api)
  const { reachFindings } = await import("./network/reach.ts")
  return new Walk(reader).answer(object, (ward) => reachFindings(object, from, port, ward))
}

/**
 * Returns what a user means by KIND/NAME, such as `deploy/web` or `pods/web-0`. @throws Error for an unknown kind
 */
export async function objectNamed(api: WhyApi, words: string, namespace: string): Promise<ObjectRef> {
  const slash = words.indexOf("/")
  const [word, name] = [words.slice(0, slash), words.slice(slash + 1)]
  if (slash <= 0 || name === "") throw new Error(`${JSON.stringify(words)} is not KIND/NAME, such as deployment/web`)
  const kind = await new Reader(api).kindNamed(word)
  if (kind === undefined) throw new Error(`the server has no kind ${JSON.stringify(word)}`)
  return refTo(kind, namespace, name)
}
