/** Applies commands as the kernel's table does, and refuses those that the kernel would refuse. */
export class Mirror {
  readonly #sets = new Map<string, Map<string, string>>()
  readonly #chains = new Map<string, string[]>()

  take(commands: string): void {
    for (const line of commands.split("\n").filter(Boolean)) this.#command(line)
  }

  /** Returns all sets with their elements and all chains with their rules, sorted. */
  content(): object {
    const sorted = <T>(of: Iterable<readonly [string, T]>) => [...of].sort(([a], [b]) => (a < b ? -1 : 1))
    return {
      sets: sorted([...this.#sets].map(([name, of]) => [name, sorted(of)] as const)),
      chains: sorted(this.#chains),
    }
  }

  #command(line: string): void {
    const [verb, what, , , name = "", ...rest] = line.split(" ")
    const body = rest.join(" ")
    if (what === "table") {
      if (verb === "delete") {
        this.#sets.clear()
        this.#chains.clear()
      }
    } else if (what === "set" || what === "map") {
      if (verb === "add") this.#sets.set(name, new Map())
      else {
        this.#mustBeFree(`@${name}`)
        this.#sets.delete(name)
      }
    } else if (what === "chain") {
      if (verb === "add") this.#chains.set(name, [])
      else if (verb === "flush") this.#chain(name).length = 0
      else {
        if (this.#chain(name).length > 0) throw new Error(`chain ${name} has rules`)
        this.#mustBeFree(name)
        this.#chains.delete(name)
      }
    } else if (what === "rule") {
      for (const [, set] of body.matchAll(/@([\w-]+)/g)) if (!this.#sets.has(set!)) throw new Error(`no set ${set}`)
      const target = /(?:jump|goto) (\S+)/.exec(body)?.[1]
      if (target !== undefined) this.#chain(target)
      this.#chain(name).push(body)
    } else if (what === "element") {
      const set = this.#sets.get(name)
      if (set === undefined) throw new Error(`no set ${name}`)
      for (const element of body.slice(2, -2).split(", ")) {
        const [key = "", verdict = ""] = element.split(" : ")
        if (verb === "delete") {
          if (!set.delete(key)) throw new Error(`no element ${key} in ${name}`)
        } else {
          if (set.has(key)) throw new Error(`${key} is in ${name} already`)
          if (verdict !== "") this.#chain(verdict.split(" ")[1]!)
          set.set(key, verdict)
        }
      }
    } else throw new Error(`nobody knows "${line}"`)
  }

  #chain(name: string): string[] {
    const chain = this.#chains.get(name)
    if (chain === undefined) throw new Error(`no chain ${name}`)
    return chain
  }

  #mustBeFree(name: string): void {
    const users = [
      ...[...this.#chains].filter(([, rules]) => rules.some((rule) => rule.split(" ").includes(name))),
      ...[...this.#sets].filter(([, of]) => [...of.values()].some((verdict) => verdict.split(" ")[1] === name)),
    ]
    if (users.length > 0) throw new Error(`${name} is in use by ${users[0]![0]}`)
  }
}
