import { Buffer } from "node:buffer"
import { join } from "node:path"
import { buildKustomization as build, type BuildOptions } from "../../kustomize/build.ts"
import { getFollowing } from "../resource/download.ts"
import type { Environment } from "../environment/environment.ts"

/** Builds the kustomization of a folder or an address, as YAML. @throws Error in kustomize's words */
export async function buildKustomization(
  environment: Environment,
  path: string,
  options: Omit<BuildOptions, "files" | "remote"> = {},
): Promise<string> {
  const { files, cwd } = environment
  const map = await build(path, {
    ...options,
    remote: remoteOf(environment, await environment.programs.find("git")),
    files: {
      workingFolder: cwd,
      async kindOf(at) {
        const stat = await files.stat(at)
        return stat === undefined ? undefined : stat.isDirectory ? "folder" : "file"
      },
      realPath: (at) => files.realPath(at),
      read: (at) => files.read(at),
    },
  })
  return map.toYaml()
}

const WORDS: Readonly<Record<number, string>> = {
  200: "OK",
  403: "Forbidden",
  404: "Not Found",
  500: "Internal Server Error",
}

function remoteOf(environment: Environment, git: string | undefined): NonNullable<BuildOptions["remote"]> {
  const { files, programs, random } = environment
  return {
    async fetch(url) {
      const { status, body } = await getFollowing(environment, new URL(url))
      return { status, statusText: WORDS[status] ?? "", body }
    },
    git: {
      path: git,
      async makeFolder() {
        const path = join(files.temporary, `kustomize-${Buffer.from(random.bytes(5)).toString("hex")}`)
        await files.mkdir(path, { recursive: true, mode: 0o700 })
        return files.realPath(path)
      },
      removeFolder: (path) => files.remove(path, { recursive: true }),
      async run(args, { folder, timeout }) {
        const { code, stdout, stderr, timedOut } = await programs.run({
          command: git!,
          args,
          cwd: folder,
          stdin: "ignore",
          output: "collect",
          timeoutMs: timeout * 1000,
        })
        return {
          output: stdout + stderr,
          failure: code === 0 ? undefined : `exit status ${code}`,
          timedOut: timedOut === true,
        }
      },
    },
  }
}
