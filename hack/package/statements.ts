/** A declaration file of one module, taken apart. tsc lays these files out evenly, so lines are enough to read them. */

/** A name that a module takes from another one: `name` is that module's word for it. */
export interface Imported {
  /** The module as it is written, such as `./pod.ts`. */
  readonly from: string
  readonly name: string
  /** Whether only the type is taken, not the value. */
  readonly isType: boolean
}

/** A statement of a declaration file, with its comment. */
export interface Statement {
  readonly text: string
  /** The name that it declares. */
  readonly name: string
}

export interface DeclarationFile {
  /** By the name in this file. */
  readonly imports: ReadonlyMap<string, Imported>
  /** Names that are exported from other modules, by the name under which this one exports them. */
  readonly reexports: ReadonlyMap<string, Imported>
  /** In their order. A name can have several: overloads, or a type and a value. */
  readonly statements: readonly Statement[]
}

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
const BEGINS = /^(?:import|export|declare|abstract|interface|type|class|enum|const|function) /
const BRACES = /^(?:import|export) (type )?\{([\s\S]*)\} from "([^"]+)";?$/
const DECLARED = /^(?:export )?(?:declare )?(?:abstract )?(?:const|let|function|class|interface|type|enum) ([\w$]+)/

/** Takes a declaration file apart. @throws Error for a statement of a form that is not known here */
export function readDeclarations(path: string, text: string): DeclarationFile {
  const imports = new Map<string, Imported>()
  const reexports = new Map<string, Imported>()
  const statements: Statement[] = []
  for (const chunk of chunksOf(text)) {
    const code = chunk.replace(COMMENT, "").trim()
    // An import for what it does declares nothing.
    if (code === "" || code === "export {};" || /^import "[^"]+";?$/.test(code)) continue
    const braces = BRACES.exec(code)
    if (braces !== null) {
      const target = code.startsWith("import") ? imports : reexports
      const isType = braces[1] !== undefined
      for (const one of namesIn(braces[2] ?? ""))
        target.set(one.as, { from: braces[3] ?? "", name: one.name, isType: isType || one.isType })
      continue
    }
    const passedOn = /^export (?:type )?\{([^}]*)\};?$/.exec(code)
    if (passedOn !== null) {
      for (const { name, as } of namesIn(passedOn[1] ?? "")) {
        const imported = imports.get(name)
        if (imported !== undefined) reexports.set(as, imported)
      }
      continue
    }
    const name = DECLARED.exec(code)?.[1]
    if (name === undefined) throw new Error(`${path}: cannot read the declaration ${code.slice(0, 100)}`)
    statements.push({ text: chunk.trim(), name })
  }
  return { imports, reexports, statements }
}

/**
 * The statements, each with the comment before it. One begins with a word in the first column. Comments there can also
 * stand within a statement, before a member of a union.
 */
function chunksOf(text: string): string[] {
  const chunks: string[] = []
  let comment = ""
  let isComment = false
  for (const line of text.split("\n")) {
    if (isComment || line.startsWith("/*")) {
      // Of two comments in a row the first is that of the file.
      comment = `${isComment ? comment : ""}${line}\n`
      isComment = !line.includes("*/")
    } else if (BEGINS.test(line)) {
      chunks.push(`${comment}${line}\n`)
      comment = ""
    } else if (line !== "") {
      chunks.push(`${chunks.pop() ?? ""}${comment}${line}\n`)
      comment = ""
    }
  }
  return chunks
}

const namesIn = (list: string): { readonly name: string; readonly as: string; readonly isType: boolean }[] =>
  list
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((one) => {
      const [name = "", as = name] = one.replace(/^type /, "").split(" as ")
      return { name, as, isType: one.startsWith("type ") }
    })

/** A statement without its comments, and without the lines that only they took. */
export const withoutComments = (text: string): string =>
  text
    .replace(COMMENT, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .join("\n")

/** The names that a statement may use: its words, without comments and texts. */
export function wordsOf(text: string): ReadonlySet<string> {
  const code = text.replace(COMMENT, "").replace(/"(?:[^"\\]|\\.)*"/g, '""')
  return new Set(code.match(/(?<![\w$.])[A-Za-z_$][\w$]*/g) ?? [])
}

/** A type of another module that is named in place: `import("./pod.ts").Pod`. */
export const INLINE_IMPORT = /import\("([^"]+)"\)\.([\w$]+)/g

/** The names that a statement imports in place. */
export const inlineImports = (text: string): Imported[] =>
  [...text.matchAll(INLINE_IMPORT)].map(([, from = "", name = ""]) => ({
    from,
    name,
    isType: true,
  }))
