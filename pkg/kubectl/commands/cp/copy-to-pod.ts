import type { Output } from "../../printers/output.ts"
import { baseName, folderOf, joinPath } from "../../../apimachinery/go/go-path.ts"
import { remotePath } from "./paths.ts"
import { runInPod, type Copy } from "./run-in-pod.ts"
import { tarOf } from "./tar-of.ts"

/** How long to wait for the answer whether the target is a folder. */
const PATIENCE_MS = 30_000

const nowhere: Output = { write: () => Promise.resolve() }

/** Copies files of this machine into a container, where tar unpacks them. Source: kubectl pkg/cmd/cp/cp.go. */
export async function copyToPod(copy: Copy & { readonly preserve: boolean }): Promise<void> {
  const { factory, source, target, preserve, out, errOut } = copy
  const { files } = factory.environment
  if ((await files.stat(source.path)) === undefined) throw new Error(`${source.path} doesn't exist in local filesystem`)
  const path = (await isFolder(copy)) ? remotePath(joinPath(target.path, baseName(source.path))) : target.path
  const unpack = preserve ? ["tar", "-xmf", "-"] : ["tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-"]
  let failure: { readonly error: unknown } | undefined
  /** Ends the input where a file cannot be read, so that tar ends too. */
  async function* archive(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* tarOf(files, source.path, baseName(path))
    } catch (error) {
      failure = { error }
    }
  }
  try {
    await runInPod(copy, target, [...unpack, "-C", folderOf(path)], { stdin: archive(), stdout: out, stderr: errOut })
  } catch (err) {
    failure ??= { error: err }
  }
  if (failure !== undefined) throw failure.error
}

/** Whether the target is a folder in the container. What goes wrong is told by the copy itself. */
async function isFolder(copy: Copy): Promise<boolean> {
  const { clock } = copy.factory.environment
  let timer: ReturnType<typeof clock.setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = clock.setTimeout(() => reject(new Error("context deadline exceeded")), PATIENCE_MS)
  })
  const asked = runInPod(copy, copy.target, ["test", "-d", copy.target.path], { stdout: nowhere, stderr: nowhere })
  try {
    return await Promise.race([
      asked.then(
        () => true,
        () => false,
      ),
      late,
    ])
  } finally {
    timer?.cancel()
  }
}
