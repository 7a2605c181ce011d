import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Volume } from "../../api/core/v1/volume/volume.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CONFIG_MAPS, SECRETS } from "../reading/kinds.ts"
import { containerOf } from "./container-of.ts"

/** How programs say that a file is not there. */
const NO_FILE: readonly RegExp[] = [
  /no such file or directory,? (?:open|stat|access|lstat|scandir) '(\/[^']+)'/i,
  /no such file or directory: '(\/[^']+)'/i,
  /(?:open|stat|read|load)\w*(?:\(\))?[ :]+['"]?(\/[\w./-]+)['"]?:? (?:no such file|not found|does not exist|failed \(2:)/i,
  /(?:^|[\s'"(:])(\/[\w./-]+)['"]?:? (?:\()?no such file or directory/i,
]

/**
 * Returns that a program looks for a file in a volume of a ConfigMap or Secret which has none of this name; undefined
 * where a line does not say so.
 */
export async function missingFileFinding(
  pod: Pod,
  containerName: string,
  line: string,
  ward: Ward,
): Promise<Finding | undefined> {
  const path = NO_FILE.map((pattern) => pattern.exec(line)?.[1]).find((one) => one !== undefined)
  const mount = containerOf(pod, containerName)
    ?.volumeMounts?.filter(({ mountPath }) => path?.startsWith(`${mountPath.replace(/\/$/, "")}/`) === true)
    .toSorted((a, b) => b.mountPath.length - a.mountPath.length)[0]
  const volume = pod.spec.volumes?.find(({ name }) => name === mount?.name)
  if (path === undefined || mount === undefined || volume === undefined || mount.subPath) return undefined
  const source = await filesOf(pod, volume, ward)
  const wanted = path.slice(mount.mountPath.replace(/\/$/, "").length + 1)
  if (source === undefined || source.files.includes(wanted)) return undefined
  const message =
    `the program of container ${containerName} wants the file ${path}: volume ${volume.name} (${source.of}), ` +
    `which is mounted at ${mount.mountPath}, has ${source.files.length === 0 ? "no file" : `only ${source.files.join(", ")}`}`
  return finding("file-missing", message, {
    evidence: [`log of ${containerName}: ${line.trim()}`],
    hints: [
      `add ${wanted} to ${source.of}, or name another path in items of the volume; ` +
        "a volume hides what the image has in its folder",
    ],
  })
}

/** Returns the files of a volume that an object of the API fills; undefined for others, and where it cannot be read. */
async function filesOf({ metadata: { namespace } }: Pod, { configMap, secret }: Volume, { reader }: Ward) {
  const name = configMap?.name ?? secret?.secretName
  if (name === undefined || name === "") return undefined
  const kind = configMap === undefined ? SECRETS : CONFIG_MAPS
  const object = await reader.get(kind, namespace, name).catch(() => undefined)
  if (object === undefined) return undefined
  const { data = {}, binaryData = {} } = object as unknown as Record<"data" | "binaryData", Record<string, string>>
  const keys = [...Object.keys(data), ...Object.keys(binaryData)]
  const items = (configMap ?? secret)?.items ?? []
  const files = items.length === 0 ? keys : items.map(({ path }) => path)
  return { of: `${kind.kind} ${name}`, files }
}
