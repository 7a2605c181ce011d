/**
 * Images as one tar file. It is an OCI image layout and a `docker save` archive at once, as Docker itself writes it
 * since version 25, so containerd, Docker, Podman and skopeo read it. Format: OCI image specification 1.0,
 * image-layout.md; Docker's moby image/spec v1.2 for manifest.json.
 */
import { buildImage, descriptor, jsonBlob } from "./image.ts"
import type { Blob, Image, ImageSource } from "./image.ts"
import { writeTar } from "./tar.ts"
import type { TarEntry } from "./tar.ts"

const INDEX = "application/vnd.oci.image.index.v1+json"

/**
 * Builds images and packs them into one archive, for `ctr images import` or `<data-dir>/agent/images/`. A layer that
 * several images share is stored once. The same sources give the same bytes.
 */
export function buildImageArchive(...sources: readonly ImageSource[]): Uint8Array {
  return packImageArchive(sources.map(buildImage))
}

/** Packs built images into one archive. */
function packImageArchive(images: readonly Image[]): Uint8Array {
  return writeTar([
    ...layout(images.map(({ name, manifest }) => ({ ...descriptor(manifest), annotations: annotations(name) }))),
    jsonFile(
      "manifest.json",
      images.map(({ name, config, layers }) => ({
        Config: blobPath(config),
        RepoTags: [name],
        Layers: layers.map(blobPath),
      })),
    ),
    ...blobFiles(images.flatMap(blobsOf)),
  ])
}

/**
 * Builds one image for several platforms, and packs it into one archive; an importer takes the part for its own
 * platform. The archive is only an OCI image layout, since `docker save` has no such images.
 * @throws RangeError unless all sources have the same name, and each has an architecture
 */
export function buildMultiPlatformArchive(sources: readonly ImageSource[]): Uint8Array {
  const [name = ""] = new Set(sources.map((source) => source.name))
  if (sources.some((source) => source.name !== name || source.architecture === undefined))
    throw new RangeError("Cannot build image: expected sources of the same name, each with an architecture")
  const images = sources.map((source) => ({ ...buildImage(source), architecture: source.architecture }))
  const index = jsonBlob(INDEX, {
    schemaVersion: 2,
    mediaType: INDEX,
    manifests: images.map(({ manifest, architecture }) => ({
      ...descriptor(manifest),
      platform: { architecture, os: "linux" },
    })),
  })
  return writeTar([
    ...layout([{ ...descriptor(index), annotations: annotations(name) }]),
    ...blobFiles([...images.flatMap(blobsOf), index]),
  ])
}

const blobsOf = ({ layers, config, manifest }: Image): readonly Blob[] => [...layers, config, manifest]

/** Returns the two files that mark and index an image layout. */
const layout = (manifests: readonly object[]): readonly TarEntry[] => [
  jsonFile("oci-layout", { imageLayoutVersion: "1.0.0" }),
  jsonFile("index.json", { schemaVersion: 2, mediaType: INDEX, manifests }),
]

/** Returns the files of blobs, each digest once. */
const blobFiles = (blobs: readonly Blob[]): readonly TarEntry[] => [
  { type: "directory", path: "blobs" },
  { type: "directory", path: "blobs/sha256" },
  ...[...new Map(blobs.map((blob) => [blob.digest, blob])).values()].map((blob): TarEntry => ({
    type: "file",
    path: blobPath(blob),
    data: blob.bytes,
  })),
]

/**
 * Returns the annotations with an image's name: containerd reads the first, other importers take the tag from the
 * second.
 */
function annotations(name: string): Record<string, string> {
  return {
    "io.containerd.image.name": name,
    "org.opencontainers.image.ref.name": name.slice(name.lastIndexOf(":") + 1),
  }
}

function blobPath({ digest }: Blob): string {
  return `blobs/${digest.replace(":", "/")}`
}

function jsonFile(path: string, value: object): TarEntry {
  return { type: "file", path, data: new TextEncoder().encode(JSON.stringify(value)) }
}
