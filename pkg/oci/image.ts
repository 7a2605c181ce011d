/**
 * Container images made of bytes, without a builder, a registry or a root file system: the pause image that the kubelet
 * carries, the images of the examples and tests, and k3ts as an image. Layers are uncompressed where they are unpacked
 * on this machine at once. Format: OCI image specification 1.0, config.md and manifest.md.
 */
import { createHash } from "node:crypto"
import { arch } from "node:process"
import { gzipSync } from "node:zlib"
import { writeTar } from "./tar.ts"
import type { TarEntry } from "./tar.ts"

/**
 * What a container of the image runs when the pod says nothing else. Fields and their spelling are those of the OCI
 * config.
 */
export interface ImageConfig {
  readonly User?: string
  /** Keys like "80/tcp". */
  readonly ExposedPorts?: Readonly<Record<string, Readonly<Record<string, never>>>>
  /** Entries like "PATH=/bin". */
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
  /** Whether it is stored in gzip. Bun's gives the same bytes on every processor. */
  readonly gzip?: boolean
}

/** An image to be built. `name` is a full reference with a tag, like "k3ts.local/web:1". */
export interface ImageSource {
  readonly name: string
  readonly layers: readonly LayerSource[]
  readonly config: ImageConfig
  /** Go's name of the processor, like "amd64" or "arm64". Defaults to this machine's. */
  readonly architecture?: string
  /** When it was made, RFC 3339. A date changes the digest, hence 1970 where none is given. */
  readonly created?: string
}

/** Bytes with what refers to them. `digest` is "sha256:" and 64 hexadecimal digits. */
export interface Blob {
  readonly mediaType: string
  readonly digest: string
  readonly bytes: Uint8Array
}

/** A built image: what a registry stores, in the order to upload it. */
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

/** Builds the blobs of an image. The same source gives the same digests. Throws RangeError for a name without a tag. */
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

/** How one blob refers to another. */
export function descriptor({ mediaType, digest, bytes }: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest, size: bytes.length }
}

function blobOf(mediaType: string, bytes: Uint8Array): Blob {
  return { mediaType, bytes, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` }
}

/** A value as the JSON that others refer to. */
export function jsonBlob(mediaType: string, value: object): Blob {
  return blobOf(mediaType, encoder.encode(JSON.stringify(value)))
}

/** Go's name of this processor, which images use, from Node's. */
function machineArchitecture(): string {
  const names: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" }
  return names[arch] ?? arch
}
