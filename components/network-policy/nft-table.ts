/**
 * The wanted content of an nftables table, and the input of `nft -f` that turns what was written last into it. The
 * kernel is not asked: for every change, what was written before is remembered until it is written.
 * A chain must not be removed before the elements and rules that refer to it, and must exist before they are added;
 * this gives the order in `changes`. All commands are one transaction, which the kernel applies as a whole or not at
 * all.
 */
import { pushAll } from "../../pkg/lists/push-all.ts"

export class NftTable {
  readonly #name: string
  readonly #sets = new Map<string, NftSet>()
  readonly #chains = new Map<string, NftChain>()
  /** The written state of sets that have changed since; `undefined` for those that did not exist. */
  #oldSets = new Map<string, NftSet | undefined>()
  #oldChains = new Map<string, NftChain | undefined>()
  #oldElements = new Map<string, Map<string, string | undefined>>()

  /** `name` has family and name: `inet k3ts-network-policy`. */
  constructor(name: string) {
    this.#name = name
  }

  get isChanged(): boolean {
    return this.#oldSets.size > 0 || this.#oldChains.size > 0 || this.#oldElements.size > 0
  }

  /** Adds a set or a map. `type` is the content of its declaration: `type ipv4_addr : verdict`. */
  addSet(name: string, type: string): void {
    this.#noteSet(name)
    this.#sets.set(name, { type, elements: new Map() })
  }

  /** Removes a set without elements. */
  removeSet(name: string): void {
    this.#noteSet(name)
    this.#sets.delete(name)
  }

  /** Adds an element, with a `verdict` if the set is a map of verdicts. */
  put(set: string, element: string, verdict = ""): void {
    const { elements } = this.#sets.get(set)!
    if (elements.get(element) === verdict) return
    this.#noteElement(set, element, elements.get(element))
    elements.set(element, verdict)
  }

  take(set: string, element: string): void {
    const { elements } = this.#sets.get(set)!
    if (!elements.has(element)) return
    this.#noteElement(set, element, elements.get(element))
    elements.delete(element)
  }

  /**
   * Sets the rules of a chain. `hook` makes it a chain that the kernel calls: `type filter hook forward priority -10`.
   */
  setChain(name: string, rules: readonly string[], hook?: string): void {
    if (!this.#oldChains.has(name)) this.#oldChains.set(name, this.#chains.get(name))
    this.#chains.set(name, { rules, hook })
  }

  removeChain(name: string): void {
    if (!this.#oldChains.has(name)) this.#oldChains.set(name, this.#chains.get(name))
    this.#chains.delete(name)
  }

  /** Returns the elements of a set with their verdicts. */
  elements(set: string): ReadonlyMap<string, string> {
    return this.#sets.get(set)?.elements ?? new Map()
  }

  rulesOf(chain: string): readonly string[] {
    return this.#chains.get(chain)?.rules ?? []
  }

  /** Returns the commands that turn what was written last into what is wanted now, which then counts as written. */
  changes(): string {
    const [sets, chains, elements] = [this.#oldSets, this.#oldChains, this.#oldElements]
    this.#forgetOld()
    const text: string[] = []
    for (const [name, old] of sets) if (old === undefined && this.#sets.has(name)) text.push(this.#addSet(name))
    const changed = [...chains].filter(([name, old]) => !sameRules(old, this.#chains.get(name)))
    for (const [name, old] of changed) {
      const wanted = this.#chains.get(name)
      if (wanted === undefined) continue
      if (old === undefined) text.push(this.#addChain(name, wanted))
      else text.push(`flush chain ${this.#name} ${name}`)
    }
    for (const [name] of changed) pushAll(text, this.#rules(name))
    for (const [set, olds] of elements) {
      if (!this.#sets.has(set)) continue // removing a set removes its elements
      const now = this.elements(set)
      const differing = [...olds].filter(([element, old]) => now.get(element) !== old)
      const gone = differing.filter(([, old]) => old !== undefined).map(([element]) => element)
      const fresh = differing.flatMap(([element]) => (now.has(element) ? [entry(element, now.get(element)!)] : []))
      if (gone.length > 0) text.push(`delete element ${this.#name} ${set} { ${gone.join(", ")} }`)
      if (fresh.length > 0) text.push(`add element ${this.#name} ${set} { ${fresh.join(", ")} }`)
    }
    const endedChains = [...chains].filter(([name, old]) => old !== undefined && !this.#chains.has(name))
    for (const [name] of endedChains) text.push(`flush chain ${this.#name} ${name}`)
    for (const [name] of endedChains) text.push(`delete chain ${this.#name} ${name}`)
    for (const [name, old] of sets)
      if (old !== undefined && !this.#sets.has(name)) text.push(`delete set ${this.#name} ${name}`)
    return lines(text)
  }

  /** Returns the commands that create the wanted table, whatever existed before; it then counts as written. */
  whole(): string {
    this.#forgetOld()
    const text = [`add table ${this.#name}`, `delete table ${this.#name}`, `add table ${this.#name}`]
    for (const name of this.#sets.keys()) text.push(this.#addSet(name))
    for (const [name, chain] of this.#chains) text.push(this.#addChain(name, chain))
    for (const name of this.#chains.keys()) pushAll(text, this.#rules(name))
    for (const [set, { elements }] of this.#sets)
      if (elements.size > 0)
        text.push(`add element ${this.#name} ${set} { ${[...elements].map((one) => entry(...one)).join(", ")} }`)
    return lines(text)
  }

  #forgetOld(): void {
    this.#oldSets = new Map()
    this.#oldChains = new Map()
    this.#oldElements = new Map()
  }

  #noteSet(name: string): void {
    if (!this.#oldSets.has(name)) this.#oldSets.set(name, this.#sets.get(name))
  }

  #noteElement(set: string, element: string, old: string | undefined): void {
    let olds = this.#oldElements.get(set)
    if (olds === undefined) this.#oldElements.set(set, (olds = new Map()))
    if (!olds.has(element)) olds.set(element, old)
  }

  #addSet(name: string): string {
    const { type } = this.#sets.get(name)!
    return `add ${type.includes(": verdict") ? "map" : "set"} ${this.#name} ${name} { ${type} ; }`
  }

  #addChain(name: string, { hook }: NftChain): string {
    return `add chain ${this.#name} ${name}${hook === undefined ? "" : ` { ${hook} ; policy accept ; }`}`
  }

  #rules(chain: string): readonly string[] {
    return this.rulesOf(chain).map((rule) => `add rule ${this.#name} ${chain} ${rule}`)
  }
}

interface NftSet {
  readonly type: string
  /** The verdicts by element; "" in a set. */
  readonly elements: Map<string, string>
}
interface NftChain {
  readonly rules: readonly string[]
  readonly hook: string | undefined
}

const entry = (element: string, verdict: string) => (verdict === "" ? element : `${element} : ${verdict}`)
const lines = (text: readonly string[]) => text.map((line) => `${line}\n`).join("")
const sameRules = (a: NftChain | undefined, b: NftChain | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  a.rules.length === b.rules.length &&
  a.rules.every((rule, i) => rule === b.rules[i])
