import { existsSync, writeFileSync } from "node:fs"
import { zstdDecompressSync } from "node:zlib"
import { EXAMPLE_IMAGES, exampleImages } from "../../../components/containerd/images/example-images.ts"
import { importImages } from "../../../components/containerd/images/images.ts"
import { containerdPaths } from "../../../components/containerd/paths.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { connectCri, type CriClient } from "../../../pkg/cri/client.ts"
import { isCriError } from "../../../pkg/cri/errors.ts"
import type { CommandGroup } from "../cli/command.ts"
import { defineCommand } from "../cli/command.ts"
import { oneOf } from "../cli/flags.ts"
import { configFlag, dataDirFlag, runtimeFlag } from "../config/server-flags.ts"
import { table } from "../table.ts"

const flags = { config: configFlag(), "data-dir": dataDirFlag(), "container-runtime-endpoint": runtimeFlag() }

const list = defineCommand({
  summary: "List the images of this node",
  flags: { ...flags, output: oneOf(["text", "json"], "text", "Form of the output", { short: "o" }) },
  run: ({ flags, print }) =>
    withRuntime(flags, async ({ images }) => {
      const found = (await images.listImages()).map(({ id, repoTags, repoDigests, size }) => ({
        names: [...repoTags, ...(repoTags.length === 0 ? repoDigests : [])],
        id,
        size,
      }))
      found.sort((a, b) => ((a.names[0] ?? "") < (b.names[0] ?? "") ? -1 : 1))
      if (flags.output === "json") print(`${JSON.stringify(found, undefined, 2)}\n`)
      else
        print(
          table(
            ["IMAGE", "ID", "SIZE"],
            found.flatMap(({ names, id, size }) =>
              (names.length === 0 ? ["<none>"] : names).map((name) => [
                name,
                id.replace("sha256:", "").slice(0, 12),
                megabytes(size),
              ]),
            ),
          ),
        )
    }),
})

const importCommand = defineCommand({
  summary: "Bring images from archives (docker save, OCI layout; plain, gzip or zstd) into the node's store",
  flags,
  positionals: { name: "FILE…", min: 1, max: Number.POSITIVE_INFINITY },
  async run({ flags, args, print }) {
    if (flags["container-runtime-endpoint"] !== undefined)
      throw new Error(
        "images import is for the containerd that k3ts runs; import into another runtime with its own tool, " +
          "as in: ctr -n k8s.io images import FILE",
      )
    const missing = args.find((path) => !existsSync(path))
    if (missing !== undefined) throw new Error(`There is no file ${missing}`)
    await withRuntime(flags, async () => {
      for (const path of args)
        for (const name of await importImages([path], containerdPaths(flags["data-dir"]))) print(`${name}\n`)
    })
  },
})

const exportCommand = defineCommand({
  summary: "Write the images of the examples, which are inside k3ts, into an archive for another runtime",
  flags: {},
  positionals: { name: "FILE", min: 1, max: 1 },
  async run({ args: [file], print }) {
    const archive = await exampleImages()
    if (archive === undefined)
      throw new Error("The images of the examples are part of the executable only: build it with npm run build")
    writeFileSync(file!, zstdDecompressSync(archive))
    print(`Wrote ${EXAMPLE_IMAGES.join(", ")} into ${file}\n`)
    return 0
  },
})

const remove = defineCommand({
  summary: "Remove images from the node's store",
  flags,
  positionals: { name: "IMAGE…", min: 1, max: Number.POSITIVE_INFINITY },
  run: ({ flags, args, print }) =>
    withRuntime(flags, async ({ images }) => {
      let code = 0
      for (const name of args) {
        if ((await images.imageStatus(name)) === undefined) {
          process.stderr.write(`k3ts: there is no image ${name}\n`)
          code = 1
          continue
        }
        await images.removeImage(name)
        print(`Removed ${name}\n`)
      }
      return code
    }),
})

async function withRuntime<T>(
  flags: { readonly "data-dir": string; readonly "container-runtime-endpoint": string | undefined },
  use: (cri: CriClient) => Promise<T>,
): Promise<T> {
  const socket = flags["container-runtime-endpoint"] ?? containerdPaths(flags["data-dir"]).socket
  const hint =
    flags["container-runtime-endpoint"] === undefined ? ": is k3ts server running on this machine, with a node?" : ""
  if (!existsSync(socket)) throw new Error(`There is no container runtime at ${socket}${hint}`)
  const cri = connectCri(socket, realClock)
  try {
    return await use(cri)
  } catch (err) {
    throw isCriError(err, "Unavailable")
      ? new Error(`The container runtime at ${socket} does not answer${hint}`, { cause: err })
      : err
  } finally {
    cri.close()
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const group: CommandGroup = {
  summary: "Images of this node's container runtime",
  commands: { import: importCommand, list, remove, export: exportCommand },
  aliases: { ls: "list", rm: "remove" },
}
export default group
