import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { runIn } from "./run-in.ts"

/** A program of a public Go module, as `go install` has it from the module proxy. */
export interface GoModule {
  readonly kind: "go"
  readonly module: string
  readonly version: string
  /** The module's sum as go.sum has it, `h1:…`. */
  readonly sum: string
  /** The package of the program below the module; the module itself by default. */
  readonly package?: string
  /** What `go install` names the program: the last word of its package. */
  readonly program: string
}

/** From an empty cache, on two busy cores. */
const BUILD_SECONDS = 45 * 60

const packageOf = ({ module, package: path }: GoModule): string => (path === undefined ? module : `${module}/${path}`)

/** What a user types to have the program. */
export const goInstall = (origin: GoModule): string => `go install ${packageOf(origin)}@${origin.version}`

/**
 * Returns the folder with the program, which is kept between runs.
 * @throws Error where Go is missing, the module has another sum, or it cannot be built
 */
export async function haveGoModule(origin: GoModule, cache: string): Promise<string> {
  const { module, version, sum, program } = origin
  const folder = join(cache, `${packageOf(origin)}@${version}`.replaceAll("/", "_"))
  if (existsSync(join(folder, program))) return folder
  await expectSum(module, version, sum, cache)
  const made = `${folder}.making`
  rmSync(made, { recursive: true, force: true })
  mkdirSync(made, { recursive: true })
  // The memory of a small machine: two compilers at a time, and a linker that collects its garbage.
  await runIn(cache, ["go", "install", "-p", "2", "-ldflags=-s", `${packageOf(origin)}@${version}`], BUILD_SECONDS, {
    CGO_ENABLED: "0",
    GOBIN: made,
    GOMEMLIMIT: "3GiB",
  })
  const [built] = readdirSync(made)
  if (built !== program) throw new Error(`go install ${packageOf(origin)} made ${built}, not ${program}`)
  renameSync(made, folder)
  return folder
}

/** Has the module downloaded, which Go itself checks against the database of sums, and compares its sum with ours. */
async function expectSum(module: string, version: string, sum: string, cache: string): Promise<void> {
  const told = await runIn(cache, ["go", "mod", "download", "-json", `${module}@${version}`], 600)
  const { Sum: found } = JSON.parse(told.slice(told.indexOf("{"))) as { readonly Sum?: string }
  if (found !== sum) throw new Error(`${module}@${version} has the sum ${found}, but ${sum} is pinned`)
}
