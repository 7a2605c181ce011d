import type { KubeObject } from "../../../apimachinery/resource.ts"
import { MOST_DEPTH } from "../../../replay/format.ts"
import type { RecordedObject, RecordedWrite } from "../../../replay/format.ts"
import type { RecordingWriter } from "../../../replay/recording-writer.ts"

/** Writes what a reader of recordings takes; leaves out, and counts, what is nested too deep for it. */
export class Recordable {
  readonly #writer: RecordingWriter
  /** Objects of which no state was recorded, by resource, namespace and name. */
  readonly #unknown = new Set<string>()
  /** Objects of which a state was left out, by resource. Their names would be told in recordings without names. */
  readonly #left = new Map<string, Set<string>>()

  constructor(writer: RecordingWriter) {
    this.#writer = writer
  }

  /** In words, what was left out. */
  get left(): readonly string[] {
    return [...this.#left].map(([resource, { size }]) => `${resource}: ${size} nested deeper than ${MOST_DEPTH} levels`)
  }

  async object(record: Omit<RecordedObject, "type">): Promise<void> {
    if (this.#takes(record)) await this.#writer.object(record)
  }

  async write(record: Omit<RecordedWrite, "type">): Promise<void> {
    const id = idOf(record)
    const isUnknown = this.#unknown.has(id)
    if (!this.#takes(record) || (isUnknown && record.verb === "delete")) return
    await this.#writer.write(isUnknown && record.verb === "update" ? { ...record, verb: "create" } : record)
  }

  #takes(record: Omit<RecordedObject, "type">): boolean {
    const id = idOf(record)
    // A record has its object within it.
    const takes = !isDeeper(record.object, MOST_DEPTH - 1)
    if (takes) this.#unknown.delete(id)
    else {
      this.#unknown.add(id)
      this.#left.set(record.resource, (this.#left.get(record.resource) ?? new Set()).add(id))
    }
    return takes
  }
}

const idOf = ({ resource, object: { metadata } }: { readonly resource: string; readonly object: KubeObject }): string =>
  `${resource} ${metadata.namespace ?? ""}/${metadata.name ?? ""}`

/** Whether objects and lists are within each other in more than so many levels. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((one) => isDeeper(one, levels - 1))
}
