import type { KubeObject } from "../apimachinery/resource.ts"
import { exactKey } from "../cache/exact-key.ts"
import { errorMessage } from "../errors/error-message.ts"
import { byWeight, finding, nameOf, type Answer, type Finding, type ObjectRef, type Opinion } from "./answer.ts"
import { checksOfEveryKind } from "./any/every-kind.ts"
import { customResource } from "./any/custom-resource.ts"
import { missingFinding } from "./any/missing.ts"
import { unwell, type Doctor, type Ward } from "./doctor.ts"
import { DOCTORS } from "./doctors.ts"
import type { Reader } from "./reading/reader.ts"

/** Goes from object to object, as their doctors ask. */
export class Walk {
  readonly #reader: Reader
  readonly #opinions = new Map<string, Opinion>()

  constructor(reader: Reader) {
    this.#reader = reader
  }

  /** Returns what is known of an object. */
  async answer(
    object: ObjectRef,
    more: (ward: Ward) => Promise<readonly Finding[]> = () => Promise.resolve([]),
  ): Promise<Answer> {
    const opinion = await this.#ask(object, [])
    const link = { object, says: opinion.summary }
    const own = await more({ reader: this.#reader, ask: (other) => this.#ask(other, []) })
    const findings = [...own, ...opinion.findings].map((one): Finding => ({ ...one, chain: [link, ...one.chain] }))
    return { object, ...opinion, healthy: opinion.healthy && own.length === 0, findings: findings.toSorted(byWeight) }
  }

  async #ask(ref: ObjectRef, asking: readonly string[]): Promise<Opinion> {
    const key = exactKey([ref.apiVersion, ref.kind, ref.namespace ?? "", ref.name])
    const known = this.#opinions.get(key)
    if (known !== undefined) return known
    // Objects may need each other: the one that is being examined already adds nothing.
    if (asking.includes(key)) return { healthy: true, summary: "", findings: [], unknown: [] }
    const ward: Ward = { reader: this.#reader, ask: (other) => this.#ask(other, [...asking, key]) }
    const opinion = await this.#examine(ref, ward)
    const sorted = { ...opinion, findings: distinct(opinion.findings).toSorted(byWeight) }
    this.#opinions.set(key, sorted)
    return sorted
  }

  async #examine(ref: ObjectRef, ward: Ward): Promise<Opinion> {
    try {
      const kind = await this.#reader.kindOf(ref)
      if (kind === undefined)
        return unwell("its kind is not served", [
          finding("kind-not-served", `the server has no kind ${ref.kind} in ${ref.apiVersion}`),
        ])
      const object = await this.#reader.get(kind, ref.namespace, ref.name)
      if (object === undefined) return unwell("does not exist", [await missingFinding(this.#reader, kind, ref)])
      return await this.#examineFound(object, ward, DOCTORS.find((one) => isFor(one, object)) ?? customResource)
    } catch (err) {
      const message = errorMessage(err)
      return unwell("cannot be examined", conversionFindings(message), [message])
    }
  }

  async #examineFound(object: KubeObject, ward: Ward, { examine }: Doctor): Promise<Opinion> {
    const first = await checksOfEveryKind(object, ward)
    const own = await examine(object, ward)
    if (first.length === 0) return own
    const isGoing = first.some(({ weight }) => weight !== "note")
    return {
      healthy: own.healthy && !isGoing,
      summary: object.metadata.deletionTimestamp === undefined ? own.summary : "is being deleted",
      // While an object is being deleted, what else is wrong with it does not matter.
      findings: isGoing && object.metadata.deletionTimestamp !== undefined ? first : [...first, ...own.findings],
      unknown: own.unknown,
    }
  }
}

/** Custom objects that a webhook must convert cannot be read while it does not answer. */
const conversionFindings = (message: string): readonly Finding[] =>
  /conversion webhook for .* failed/i.test(message)
    ? [
        finding(
          "conversion-webhook",
          `it cannot be read, because its definition's conversion webhook fails: ${message}`,
        ),
      ]
    : []

const isFor = ({ kind }: Doctor, { apiVersion, kind: name }: KubeObject): boolean =>
  kind.apiVersion === apiVersion && kind.kind === name

/** Returns the findings without those whose cause is there already, reached by another way. */
function distinct(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ cause, chain }) => {
    const at = chain.at(-1)?.object
    const key = exactKey([cause.code, cause.message, at === undefined ? "" : nameOf(at)])
    return !seen.has(key) && seen.add(key) !== undefined
  })
}
