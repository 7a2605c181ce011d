import { gunzipSync } from "node:zlib"
import { parseYaml } from "../yaml/yaml.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { Chart, ChartDependency, ChartFile, ChartMetadata } from "./chart.ts"
import { goValues } from "./functions/convert.ts"
import { readArchive } from "./read-archive.ts"

/**
 * The most bytes of a chart that is unpacked, with all the packed charts in it, and of one of its files. Source:
 * helm.sh/helm/v3/pkg/chart/loader MaxDecompressedChartSize, MaxDecompressedFileSize.
 */
const MOST_BYTES = 100 * 1024 * 1024
const MOST_FILE_BYTES = 5 * 1024 * 1024
/** Charts in charts: deeper ones are refused, and more of them. */
const MOST_DEEP = 20
const MOST_CHARTS = 1000

/** What may still be read of a chart. */
class Room {
  #bytes = MOST_BYTES
  #charts = MOST_CHARTS

  unpack(archive: Uint8Array): Uint8Array {
    const tar = gunzipSync(archive, { maxOutputLength: Math.max(1, this.#bytes) })
    this.#bytes -= tar.length
    return tar
  }

  enter(depth: number): void {
    if (depth > MOST_DEEP) throw new Error("charts are nested too deep")
    if (this.#charts-- === 0) throw new Error(`there are more than ${MOST_CHARTS} charts in the chart`)
  }
}

/** Reads a packed chart: a tar archive with one folder, compressed with gzip. @throws Error */
export function loadArchive(archive: Uint8Array): Chart {
  const room = new Room()
  return loadFiles(filesOfArchive(archive, room), room)
}

function filesOfArchive(archive: Uint8Array, room: Room): readonly ChartFile[] {
  let tar: Uint8Array
  try {
    tar = room.unpack(archive)
  } catch (err) {
    throw new Error(`the chart is no archive that is compressed with gzip, or too large: ${errorMessage(err)}`, {
      cause: err,
    })
  }
  return readArchive(tar).flatMap(({ name, data }) => {
    const inside = name.replaceAll("\\", "/").split("/").slice(1)
    if (inside.includes("..")) throw new Error(`the chart has a file outside of its folder: ${name}`)
    if (data.length > MOST_FILE_BYTES)
      throw new Error(`the chart's file ${name} has more than ${MOST_FILE_BYTES} bytes`)
    return inside.length === 0 || inside.join("/") === "" ? [] : [{ name: inside.join("/"), data }]
  })
}

const decoder = new TextDecoder()
export const textOfFile = (data: Uint8Array): string => decoder.decode(data)

function yamlIn({ name, data }: ChartFile): unknown {
  try {
    return parseYaml(textOfFile(data)).value ?? {}
  } catch (err) {
    throw new Error(`cannot load ${name}: ${errorMessage(err)}`, { cause: err })
  }
}

/** Reads a chart from its files, by their paths in its folder. @throws Error */
export function loadFiles(files: readonly ChartFile[], room: Room = new Room(), depth = 0): Chart {
  room.enter(depth)
  const named = (name: string) => files.find((file) => file.name === name)
  const own = named("Chart.yaml")
  if (own === undefined) throw new Error("Chart.yaml file is missing")
  const written = yamlIn(own) as Partial<ChartMetadata>
  const requirements = named("requirements.yaml")
  const metadata: ChartMetadata = {
    ...written,
    ...(requirements === undefined
      ? {}
      : (yamlIn(requirements) as { readonly dependencies?: readonly ChartDependency[] })),
    apiVersion: written.apiVersion ?? "v1",
    name: written.name ?? "",
    version: String(written.version ?? ""),
    ...(written.appVersion === undefined ? {} : { appVersion: String(written.appVersion) }),
  }
  if (metadata.name === "") throw new Error("validation: chart.metadata.name is required")
  const values = named("values.yaml")
  const schema = named("values.schema.json")?.data
  const isV1 = metadata.apiVersion === "v1"
  return {
    metadata,
    values: values === undefined ? {} : (goValues(yamlIn(values)) as Readonly<Record<string, unknown>>),
    templates: files.filter(({ name }) => name.startsWith("templates/")),
    files: files.filter(
      ({ name }) =>
        !name.startsWith("templates/") &&
        !(name.startsWith("charts/") && !name.endsWith(".prov")) &&
        !["Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json"].includes(name) &&
        (isV1 || !name.startsWith("requirements.")),
    ),
    dependencies: dependenciesIn(files, room, depth),
    ...(schema === undefined ? {} : { schema }),
  }
}

/** Reads the charts in `charts/`: folders and archives. Names that begin with a dot or an underscore are left out. */
function dependenciesIn(files: readonly ChartFile[], room: Room, depth: number): readonly Chart[] {
  const folders = new Map<string, ChartFile[]>()
  for (const { name, data } of files) {
    if (!name.startsWith("charts/") || name.endsWith(".prov")) continue
    const [folder = "", ...rest] = name.slice("charts/".length).split("/")
    const found = folders.get(folder) ?? []
    found.push({ name: rest.join("/"), data })
    folders.set(folder, found)
  }
  return [...folders].flatMap(([folder, inside]) => {
    if (/^[_.]/.test(folder)) return []
    if (folder.endsWith(".tgz")) return [loadFiles(filesOfArchive(inside[0]!.data, room), room, depth + 1)]
    return inside.some(({ name }) => name === "Chart.yaml") ? [loadFiles(inside, room, depth + 1)] : []
  })
}
