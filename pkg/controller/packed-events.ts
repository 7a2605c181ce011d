import { deflateRawSync, inflateRawSync } from "node:zlib"
import { savingAtRest } from "../cache/at-rest.ts"
import { RecentTexts } from "../cache/recent-texts.ts"
import type { ObjectEvents, SimilarEvents, CorrelatedEvent } from "./correlated-event.ts"

/** Most objects that are remembered. Source: client-go tools/record/events_cache.go. */
const MOST = 4096
/** So many objects are written on one sheet, as soon as there are twice as many that are not. */
const SHEET = 64
/** At rest, so many objects are a sheet: fewer take less memory as they are. */
const SMALL_SHEET = 8

/** The same as two JSON texts, of which objects with the same events share the longer one. */
interface Packed {
  /** `Kinds`: what the events say. */
  readonly kinds: string
  /**
   * `Numbers`: the tokens and their time; then for each kind the start of its window; then for each of its events and
   * for the combined one the suffix, the count and the window. Windows are in milliseconds before the time of the
   * tokens.
   */
  readonly numbers: string
}
type Kinds = readonly (readonly [
  type: string,
  reason: string,
  fieldPath: string | null,
  messages: readonly string[],
  combined: string | null,
])[]
type Numbers = (number | string | null)[]

/** Many objects as one piece of memory. */
interface Sheet {
  /** The compressed JSON of `Line`s: names and times of one moment differ little, so it is a fifth. */
  readonly bytes: Uint8Array
  /** The number of objects on it that were not taken since. */
  left: number
}
type Line = readonly [uid: string, kinds: string, numbers: string]

/** Reporters of all nodes have the same events about pods of one template. */
const knownKinds = new RecentTexts()

/**
 * The events of objects that were not reported lately, in little memory. The latest are small objects with shared
 * texts; the others, and at rest nearly all, lie on sheets, because thousands of small objects that are made during a
 * busy time lie between its garbage, and so keep many times their size from being given back.
 */
export class PackedEvents {
  /** The latest objects by uid. */
  readonly #single = new Map<string, Packed>()
  /** The sheets of the other objects by `codeOf` their uids, since numbers take no memory of their own. */
  readonly #sheetOf = new Map<number, Sheet>()
  /** The oldest first. */
  readonly #sheets = new Set<Sheet>()

  constructor() {
    savingAtRest(this, (events) => events.#writeAll())
  }

  /** Remembers the events of an object that is not here. If there are too many, the oldest sheet is forgotten. */
  put(uid: string, about: ObjectEvents): void {
    this.#single.set(uid, packedFrom(about))
    if (this.#single.size < 2 * SHEET) return
    this.#write()
  }

  /** Returns what is known of an object, and removes it. */
  take(uid: string): ObjectEvents | undefined {
    const packed = this.#single.get(uid) ?? this.#fromSheet(uid)
    this.#single.delete(uid)
    return packed === undefined ? undefined : unpacked(packed)
  }

  #fromSheet(uid: string): Packed | undefined {
    const code = codeOf(uid)
    const sheet = this.#sheetOf.get(code)
    const line = sheet === undefined ? undefined : linesOf(sheet).find(([known]) => known === uid)
    if (sheet === undefined || line === undefined) return undefined
    this.#drop(code, sheet)
    const [, kinds, numbers] = line
    return { kinds, numbers }
  }

  #writeAll(): void {
    while (this.#single.size >= SMALL_SHEET) this.#write()
  }

  /** Moves the oldest objects to a sheet. If there are too many objects then, forgets the oldest sheet. */
  #write(): void {
    const lines: Line[] = []
    for (const [uid, { kinds, numbers }] of this.#single) {
      if (lines.length === SHEET) break
      lines.push([uid, kinds, numbers])
    }
    const sheet: Sheet = { bytes: deflateRawSync(JSON.stringify(lines), { level: 1 }), left: lines.length }
    this.#sheets.add(sheet)
    for (const [uid] of lines) {
      this.#single.delete(uid)
      const code = codeOf(uid)
      const other = this.#sheetOf.get(code)
      if (other !== undefined) this.#drop(code, other)
      this.#sheetOf.set(code, sheet)
    }
    if (this.#single.size + this.#sheetOf.size > MOST) this.#forget(this.#sheets.values().next().value!)
  }

  #forget(sheet: Sheet): void {
    for (const [uid] of linesOf(sheet)) {
      const code = codeOf(uid)
      if (this.#sheetOf.get(code) === sheet) this.#drop(code, sheet)
    }
  }

  #drop(code: number, sheet: Sheet): void {
    this.#sheetOf.delete(code)
    if (--sheet.left === 0) this.#sheets.delete(sheet)
  }
}

const linesOf = ({ bytes }: Sheet): readonly Line[] => JSON.parse(inflateRawSync(bytes).toString()) as Line[]

/** Returns 32 bits that differ for nearly all uids. Of two objects with the same code, the earlier one is forgotten. */
function codeOf(uid: string): number {
  let code = 0
  for (let i = 0; i < uid.length; i++) code = (Math.imul(code, 31) + uid.charCodeAt(i)) | 0
  return code
}

function packedFrom({ tokens, at, similar }: ObjectEvents): Packed {
  const kinds: Kinds = similar.map(({ type, reason, fieldPath = null, correlated, combined }) => [
    type,
    reason,
    fieldPath,
    correlated.map(({ message }) => message),
    combined?.message ?? null,
  ])
  const numbers: Numbers = [tokens, at]
  for (const { window, correlated, combined } of similar) {
    numbers.push(at - window)
    for (const each of correlated) numbers.push(each.suffix ?? null, each.count, at - each.window)
    if (combined !== undefined) numbers.push(combined.suffix ?? null, combined.count, at - combined.window)
  }
  return { kinds: knownKinds.of(JSON.stringify(kinds)), numbers: JSON.stringify(numbers) }
}

function unpacked(packed: Packed): ObjectEvents {
  const numbers = JSON.parse(packed.numbers) as Numbers
  const [tokens, at] = numbers as [number, number]
  let next = 2
  const window = () => at - (numbers[next++] as number)
  const correlatedEventOf = (message: string): CorrelatedEvent => ({
    message,
    suffix: (numbers[next++] as string | null) ?? undefined,
    count: numbers[next++] as number,
    window: window(),
  })
  const similar = (JSON.parse(packed.kinds) as Kinds).map(
    ([type, reason, fieldPath, messages, combined]): SimilarEvents => ({
      type,
      reason,
      fieldPath: fieldPath ?? undefined,
      window: window(),
      correlated: messages.map(correlatedEventOf),
      combined: combined === null ? undefined : correlatedEventOf(combined),
    }),
  )
  return { tokens, at, isRecurring: true, similar }
}
