import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

export const root = join(import.meta.dirname, "../..")

/** The project's own runtimes. */
export const BUN = process.execPath
export const DENO = join(root, "node_modules/.bin/deno")
export const TSC = join(root, "node_modules/typescript/bin/tsc")

export interface Outcome {
  readonly status: number | null
  /** Standard output and standard error, in that order. */
  readonly output: string
}

/** An empty project in a folder of its own, which has the packed archive installed. */
export class Project implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "k3ts-package-"))

  /** @param packages What npm installs, such as the path of the archive. */
  constructor(packages: readonly string[]) {
    this.write("package.json", `{ "name": "empty", "private": true, "type": "module" }\n`)
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages], {
      cwd: this.folder,
      stdio: "pipe",
    })
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    writeFileSync(join(this.folder, path), text)
  }

  remove(path: string): void {
    rmSync(join(this.folder, path), { recursive: true })
  }

  run(
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    timeout = 100_000,
  ): Outcome {
    const { status, stdout, stderr, error } = spawnSync(program, args, {
      cwd: this.folder,
      encoding: "utf8",
      env: { ...process.env, NO_COLOR: "1", K3TS_FROZEN: "", ...env },
      timeout,
    })
    return { status, output: `${stdout}${stderr}${error === undefined ? "" : String(error)}` }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Packs the package; returns the path of its archive. */
export function packArchive(): string {
  const name = execFileSync("bash", [join(root, "hack/package.sh")], { encoding: "utf8", stdio: "pipe" }).trim()
  return join(root, name)
}

/** The first of these programs that is a Node of this version or later; undefined when there is none. */
export function findNode(major: number, candidates: readonly string[]): string | undefined {
  return candidates.find((program) => {
    if (program.includes("/") && !existsSync(program)) return false
    const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" })
    return Number(/^v(\d+)\./.exec(stdout ?? "")?.[1] ?? 0) >= major
  })
}
