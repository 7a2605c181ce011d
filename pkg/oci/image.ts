/**
 * Makes container images from bytes, without a builder, a registry or a root file system: the pause image that the
 * kubelet contains, the images of the examples and tests, and k3ts as an image. Layers that this machine unpacks at
 * once are left uncompressed. Format: OCI image specification 1.0, config.md and manifest.md.
 */
import { createHash } from "node:crypto"
import { arch } from "node:process"
import { gzipSync } from "node:zlib"
import { writeTar } from "./tar.ts"
import type { TarEntry } from "./tar.ts"

/** What a container of the image runs by default. Fields and their spelling are those of the OCI config. */
export interface ImageConfig {
  readonly User?: string
  /** Keys such as "80/tcp". */
  readonly ExposedPorts?: Readonly<Record<string, Readonly<Record<string, never>>>>
  /** Entries such as "PATH=/bin". */
  readonly Env?: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly WorkingDir?: string
  readonly Labels?: Readonly<Record<string, string>>
  readonly StopSignal?: string
}

/** One layer: its entries are written in the order given. */
export interface LayerSource {
  readonly files: readonly TarEntry[]
  /** Whether the layer is stored as gzip. Bun's gzip gives the same bytes on every platform. */
  readonly gzip?: boolean
}

/** An image to be built. `name` is a full reference with a tag, such as "k3ts.local/web:1". */
export interface ImageSource {
  readonly name: string
  readonly layers: readonly LayerSource[]
  readonly config: ImageConfig
  /** Go's name of the processor architecture, such as "amd64" or "arm64". Defaults to this machine's. */
  readonly architecture?: string
  /** When the image was made, as RFC 3339. A date changes the digest, so the default is the start of 1970. */
  readonly created?: string
}

/**
 * Bytes, with the media type and digest by which other blobs refer to them. `digest` is "sha256:" and 64 hexadecimal
 * digits.
 */
export interface Blob {
  readonly mediaType: string
  readonly digest: string
  readonly bytes: Uint8Array
}

/** A built image: its blobs, in the order in which they must be pushed to a registry. */
export interface Image {
  readonly name: string
  readonly layers: readonly Blob[]
  readonly config: Blob
  readonly manifest: Blob
}

const MEDIA_TYPE = {
  layer: "application/vnd.oci.image.layer.v1.tar",
  gzipLayer: "application/vnd.oci.image.layer.v1.tar+gzip",
  config: "application/vnd.oci.image.config.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
} as const

const encoder = new TextEncoder()

/** Builds the blobs of an image. The same source gives the same digests. @throws RangeError for a name without a tag */
export function buildImage({
  name,
  layers,
  config,
  architecture = machineArchitecture(),
  created = "1970-01-01T00:00:00Z",
}: ImageSource): Image {
  if (!/^[^\s@]+\/[^\s@:/]+:[\w.-]+$/.test(name)) {
    throw new RangeError(`Cannot build image: expected a name like "k3ts.local/web:1", got "${name}"`)
  }
  const layerBlobs = layers.map(buildLayer)
  const configBlob = jsonBlob(MEDIA_TYPE.config, {
    created,
    architecture,
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: layerBlobs.map(({ diffId }) => diffId) },
    history: layerBlobs.map(() => ({ created, created_by: "k3ts" })),
  })
  const manifest = jsonBlob(MEDIA_TYPE.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA_TYPE.manifest,
    config: descriptor(configBlob),
    layers: layerBlobs.map(({ blob }) => descriptor(blob)),
  })
  return { name, layers: layerBlobs.map(({ blob }) => blob), config: configBlob, manifest }
}

/** Returns a layer as it is stored, with the digest of its content before compression. */
function buildLayer({ files, gzip = false }: LayerSource): { readonly blob: Blob; readonly diffId: string } {
  const tar = blobOf(MEDIA_TYPE.layer, writeTar(files))
  return { diffId: tar.digest, blob: gzip ? blobOf(MEDIA_TYPE.gzipLayer, gzipSync(tar.bytes)) : tar }
}

/** Returns the descriptor by which one blob refers to another. */
export function descriptor({ mediaType, digest, bytes }: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest, size: bytes.length }
}

function blobOf(mediaType: string, bytes: Uint8Array): Blob {
  return { mediaType, bytes, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` }
}

/** Returns a value as a blob of JSON. */
export function jsonBlob(mediaType: string, value: object): Blob {
  return blobOf(mediaType, encoder.encode(JSON.stringify(value)))
}

/** Returns Go's name of this machine's processor architecture, which images use. */
function machineArchitecture(): string {
  const names: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" }
  return names[arch] ?? arch
}
