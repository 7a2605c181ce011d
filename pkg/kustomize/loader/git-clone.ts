import type { GitProgram } from "./remote.ts"
import type { RepoSpec } from "./repo-spec.ts"

/** A command of git took too long. Source: kustomize api/internal/utils/errtimeout.go. */
export class TimeoutError extends Error {}

/**
 * Clones a repository into a new folder. Returns the folder. Source: kustomize api/internal/git/cloner.go.
 * @throws Error with git's output
 */
export async function cloneRepository(git: GitProgram | undefined, spec: RepoSpec): Promise<string> {
  const path = await git?.find()
  if (git === undefined || path === undefined)
    throw new Error(`no 'git' program on path: exec: "git": executable file not found in $PATH`)
  const folder = await git.makeFolder()
  const run = async (...args: readonly string[]) => {
    const { output, failure, timedOut } = await git.run(path, args, { folder, timeout: spec.timeout })
    const command = `${path} ${args.join(" ")}`
    if (timedOut) throw new TimeoutError(`hit ${durationText(spec.timeout)} timeout running '${command}'`)
    if (failure !== undefined) throw new Error(`failed to run '${command}': ${output}: ${failure}`)
  }
  try {
    await run("init")
    await run("remote", "add", "origin", spec.cloneSpec)
    await run("fetch", "--depth=1", spec.cloneSpec, spec.ref || "HEAD")
    await run("checkout", "FETCH_HEAD")
    if (spec.hasSubmodules) await run("submodule", "update", "--init", "--recursive")
  } catch (err) {
    await git.removeFolder(folder)
    throw err
  }
  return folder
}

/** Returns seconds as Go shows a duration. */
function durationText(seconds: number): string {
  if (seconds < 1) return `${seconds * 1000}ms`
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = `${seconds % 60}s`
  return (hours > 0 ? `${hours}h` : "") + (hours > 0 || minutes > 0 ? `${minutes}m` : "") + rest
}
