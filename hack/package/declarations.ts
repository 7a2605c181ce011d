import { readFileSync } from "node:fs"
import { posix } from "node:path"
import {
  INLINE_IMPORT,
  inlineImports,
  readDeclarations,
  wordsOf,
  type DeclarationFile,
  type Imported,
} from "./statements.ts"

/** What stands in the place of modules of our sources. */
export interface Replacements {
  /** `<path or library>#<name>` → the module that declares the name for users. */
  readonly named: ReadonlyMap<string, string>
  /** Whether a module is replaced as a whole by `kinds`. */
  isKind(path: string): boolean
  /** The module of the kinds, and the names that it has. */
  readonly kinds: { readonly path: string; readonly names: ReadonlySet<string> }
  /** Where a module stands in the package. */
  outputOf(path: string): string
}

/** `Disposable` and `AsyncDisposable`, which a program without this library has not. */
const LIBRARIES = `/// <reference lib="esnext.disposable" />\n`

/** The module of the web's own types in the package. */
const WEB = "web.ts"
const WEB_TYPES = ["AbortSignal", "Request", "Response", "URL"]
/** What `new Request` takes, which has no value by which a library can be recognized. */
const REQUEST_INIT = `type OwnRequestInit = typeof globalThis extends { Request: new (input: never, init?: infer T) => unknown }
  ? NonNullable<T>
  : { method?: string; headers?: Record<string, string>; body?: string | Uint8Array; signal?: OwnAbortSignal }
export type { OwnRequestInit as RequestInit }
`

/**
 * The web's types without a library that a program may not have: those of its DOM library, of its runtime's types, or
 * unknown.
 */
const webModule = (): string =>
  WEB_TYPES.map(
    (name) =>
      `type Own${name} = typeof globalThis extends { ${name}: { prototype: infer T } } ? T : unknown\n` +
      `export type { Own${name} as ${name} }\n`,
  ).join("") + REQUEST_INIT

/** A statement that the public API consists of. */
export interface PublicStatement {
  readonly path: string
  readonly name: string
  readonly text: string
}

/**
 * The part of tsc's declarations that the ways into the package reach, statement by statement. All the rest, and
 * whatever it refers to, stays out of the package.
 */
export class PublicDeclarations {
  readonly #folder: string
  readonly #replaced: Replacements
  readonly #files = new Map<string, DeclarationFile>()
  /** By module, the names that are needed of it. */
  readonly #needed = new Map<string, Set<string>>()

  /** @param folder What tsc has written. */
  constructor(folder: string, replaced: Replacements) {
    this.#folder = folder
    this.#replaced = replaced
  }

  /** Takes in all that a module exports, and what this needs. Returns the declarations of the way in, to stand at `at`. */
  entry(path: string, at: string): string {
    const { reexports, statements } = this.#file(path)
    const [own] = statements
    if (own !== undefined)
      throw new Error(`${path}: a way in only passes on what others declare, and it declares ${own.name}`)
    const byTarget = new Map<string, string[]>()
    for (const [as, imported] of reexports) {
      const { path: target, name } = this.#resolve(path, imported)
      const from = this.#specifier(at, target)
      const what = `${imported.isType ? "type " : ""}${name === as ? name : `${name} as ${as}`}`
      byTarget.set(from, [...(byTarget.get(from) ?? []), what])
    }
    const lines = [...byTarget].map(([from, names]) => `export { ${names.join(", ")} } from "${from}"\n`)
    return `${LIBRARIES}${lines.join("")}`
  }

  /** The names that a module exports; a type alone has `type` before its name. */
  exportsOf(path: string): string[] {
    return [...this.#file(path).reexports].map(([as, { isType }]) => `${isType ? "type " : ""}${as}`)
  }

  /** The modules beside the ways in, by their paths in the package. */
  modules(): Map<string, string> {
    const modules = this.#paths().map((path) => [this.#replaced.outputOf(path), this.#module(path)] as const)
    return new Map([...modules, [WEB, webModule()]])
  }

  /** Every statement that is in the package, by module and in its order. */
  statements(): PublicStatement[] {
    return this.#paths().flatMap((path) => this.#statementsOf(path).map(({ name, text }) => ({ path, name, text })))
  }

  #paths(): string[] {
    return [...this.#needed.keys()].sort()
  }

  #file(path: string): DeclarationFile {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const text = readFileSync(posix.join(this.#folder, path.replace(/\.ts$/, ".d.ts")), "utf8")
    const file = readDeclarations(path, text)
    this.#files.set(path, file)
    return file
  }

  #need(path: string, name: string): void {
    const names = this.#needed.get(path) ?? new Set()
    this.#needed.set(path, names)
    if (names.has(name)) return
    names.add(name)
    const file = this.#file(path)
    const declared = new Set(file.statements.map((statement) => statement.name))
    if (!declared.has(name)) throw new Error(`${path} declares no ${name}`)
    for (const { name: its, text } of file.statements) {
      if (its !== name) continue
      for (const word of wordsOf(text)) {
        const imported = file.imports.get(word)
        if (imported !== undefined) this.#resolve(path, imported)
        else if (declared.has(word)) this.#need(path, word)
      }
      for (const imported of inlineImports(text)) this.#resolve(path, imported)
    }
  }

  /** Where users find what a module imports; notes that it is needed. */
  #resolve(from: string, imported: Imported): { path: string; name: string } {
    const isOurs = imported.from.startsWith(".")
    const path = isOurs ? posix.join(posix.dirname(from), imported.from) : imported.from
    const { name } = imported
    const stand = this.#replaced.named.get(`${path}#${name}`)
    if (stand !== undefined && stand !== from) {
      this.#need(stand, name)
      return { path: stand, name }
    }
    if (!isOurs)
      throw new Error(
        `${from}: the public API has ${name} of ${path}, a type that users may not have; see public-types.ts`,
      )
    const { kinds } = this.#replaced
    if (this.#replaced.isKind(path)) {
      if (!kinds.names.has(name)) throw new Error(`${from}: the public API has ${name} of ${path}, which is not public`)
      return { path: kinds.path, name }
    }
    const further = this.#file(path).reexports.get(name)
    if (further !== undefined) return this.#resolve(path, further)
    this.#need(path, name)
    return { path, name }
  }

  #statementsOf(path: string): DeclarationFile["statements"] {
    const needed = this.#needed.get(path) ?? new Set()
    return this.#file(path).statements.filter(({ name }) => needed.has(name))
  }

  #module(path: string): string {
    const statements = this.#statementsOf(path)
    const used = new Set(statements.flatMap(({ text }) => [...wordsOf(text)]))
    const at = this.#replaced.outputOf(path)
    const heads = [...this.#file(path).imports]
      .filter(([as]) => used.has(as))
      .map(([as, imported]) => {
        const { path: target, name } = this.#resolve(path, imported)
        const what = name === as ? name : `${name} as ${as}`
        return `import type { ${what} } from "${this.#specifier(at, target)}"\n`
      })
    for (const name of [...WEB_TYPES, "RequestInit"])
      if (used.has(name)) heads.push(`import type { ${name} } from "${this.#specifier(at, WEB)}"\n`)
    const bodies = statements.map(({ text }) =>
      text.replace(INLINE_IMPORT, (_whole, from: string, name: string) => {
        const target = this.#resolve(path, { from, name, isType: true })
        return `import("${this.#specifier(at, target.path)}").${target.name}`
      }),
    )
    return `${heads.join("")}${bodies.join("\n")}\nexport {}\n`
  }

  /** How a module of the package at `at` names the one that `path` becomes. */
  #specifier(at: string, path: string): string {
    const relative = posix.relative(posix.dirname(at), this.#replaced.outputOf(path)).replace(/\.ts$/, ".js")
    return relative.startsWith(".") ? relative : `./${relative}`
  }
}
