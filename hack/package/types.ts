import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import * as testing from "../../components/cluster/testing/testing.ts"
import * as operator from "../../pkg/operator/operator.ts"
import { ListMeta, ObjectMeta } from "../../pkg/apimachinery/meta.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { run } from "../../pkg/process/run.ts"
import { PublicDeclarations } from "./declarations.ts"
import { ENTRIES, fileOf } from "./entries.ts"
import { typesOfKinds } from "./kind-types.ts"

/** The declarations of the package. */
export interface PackageTypes {
  /** Text by path, such as `testing.d.ts`. */
  readonly files: ReadonlyMap<string, string>
  /** What each way in exports; a type alone has `type` before its name. */
  readonly entries: ReadonlyMap<string, readonly string[]>
  readonly kinds: ReadonlyMap<string, Resource>
  readonly declarations: PublicDeclarations
}

const KINDS = "kinds.ts"
const PUBLIC_TYPES = "hack/package/public-types.ts"

/** The types of our modules and of libraries that `public-types.ts` takes the place of. */
const NAMED: readonly (readonly [path: string, name: string])[] = [
  ["@opentelemetry/api", "SpanContext"],
  ["pkg/apimachinery/resource.ts", "Resource"],
  ["components/kubelet/runtime/simulated/containers/container.ts", "SimulatedContainer"],
  ["components/kubelet/runtime/simulated/simulated-runtime.ts", "SimulatedRuntime"],
]

const META = "pkg/apimachinery/meta.ts"
const isKind = (path: string): boolean => path.startsWith("pkg/api/") || path === META

/**
 * Makes the declarations: tsc writes those of all modules into `scratch`, of which the reachable ones are taken, and
 * the kinds' are written from the kinds themselves.
 */
export async function makeTypes(root: string, scratch: string): Promise<PackageTypes> {
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  await run(process.execPath, [tsc, "-p", join(root, "hack/package/tsconfig.json"), "--outDir", scratch])
  const header =
    `import type { KubeObject, KubeObjectInput } from "./pkg/apimachinery/resource.js"\n` +
    `import type { Resource } from "./${outputOf(PUBLIC_TYPES).replace(/\.ts$/, ".js")}"\n`
  const kinds = publicKinds()
  const { text, names } = typesOfKinds(kinds, [ListMeta, ObjectMeta], header)
  const declarations = new PublicDeclarations(scratch, {
    named: new Map(NAMED.map(([path, name]) => [`${path}#${name}`, PUBLIC_TYPES])),
    isKind,
    kinds: { path: KINDS, names },
    outputOf,
  })
  const files = new Map<string, string>()
  const entries = new Map<string, readonly string[]>()
  for (const [name, path] of Object.entries(ENTRIES)) {
    files.set(`${fileOf(path)}.d.ts`, declarations.entry(path, `${fileOf(path)}.ts`))
    entries.set(name, declarations.exportsOf(path))
  }
  for (const [path, module] of declarations.modules()) files.set(path.replace(/\.ts$/, ".d.ts"), module)
  files.set("kinds.d.ts", text)
  return { files, entries, kinds, declarations }
}

/** Every kind that a way into the package exports, by its name there. */
export function publicKinds(): ReadonlyMap<string, Resource> {
  const exported = Object.entries({ ...testing, ...operator })
  return new Map(exported.filter((entry): entry is [string, Resource] => isResource(entry[1])))
}

const isResource = (value: unknown): value is Resource =>
  typeof value === "object" && value !== null && "schema" in value && "kind" in value

/** Where the declarations of a module stand in the package. */
function outputOf(path: string): string {
  return path.replace(/^hack\/package\//, "")
}

/** Writes texts into a folder. */
export async function writeFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}
