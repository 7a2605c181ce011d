import { field, message, repeated } from "../protobuf/message.ts"
import type { Channel } from "./channel.ts"
import { Empty, service } from "../grpc/rpc.ts"
import { orUndefined } from "./errors.ts"
import { AuthConfig, Image, ImageFilter, ImageSpec } from "./image.ts"
import { PodSandboxConfig } from "./sandbox.ts"
import type { ImageService } from "./service.ts"
import { FilesystemUsage } from "./stats.ts"

const rpc = service("runtime.v1.ImageService")

/** Source: kubernetes/cri-api pkg/apis/runtime/v1/api.proto. */
const RPC = {
  listImages: rpc("ListImages", message({ filter: field(1, ImageFilter) }), message({ images: repeated(1, Image) })),
  imageStatus: rpc("ImageStatus", message({ image: field(1, ImageSpec) }), message({ image: field(1, Image) })),
  pullImage: rpc(
    "PullImage",
    message({ image: field(1, ImageSpec), auth: field(2, AuthConfig), sandboxConfig: field(3, PodSandboxConfig) }),
    message({ imageRef: field(1, "string") }),
  ),
  removeImage: rpc("RemoveImage", message({ image: field(1, ImageSpec) }), Empty),
  imageFsInfo: rpc(
    "ImageFsInfo",
    Empty,
    message({ imageFilesystems: repeated(1, FilesystemUsage), containerFilesystems: repeated(2, FilesystemUsage) }),
  ),
}

/** A pull has no natural limit. After an hour its registry is taken to have gone silent. */
const PULL_TIMEOUT_MS = 3_600_000

/** Returns the image service that is reached over `channel`. */
export function imageService(channel: Channel): ImageService {
  return {
    listImages: async (image, options) =>
      (await channel.call(RPC.listImages, { filter: image === undefined ? undefined : { image: { image } } }, options))
        .images,
    imageStatus: async (image, options) =>
      (await orUndefined(channel.call(RPC.imageStatus, { image: { image } }, options)))?.image,
    pullImage: async (image, auth, sandboxConfig, options) =>
      (await channel.call(RPC.pullImage, { image, auth, sandboxConfig }, { timeoutMs: PULL_TIMEOUT_MS, ...options }))
        .imageRef,
    removeImage: async (image, options) =>
      void (await orUndefined(channel.call(RPC.removeImage, { image: { image } }, options))),
    imageFsInfo: (options) => channel.call(RPC.imageFsInfo, {}, options),
  }
}
