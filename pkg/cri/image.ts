/** Images of the runtime. Source: kubernetes/cri-api pkg/apis/runtime/v1/api.proto. */
import { field, map, message, repeated, type DecodedOf, type InitOf } from "../protobuf/message.ts"
import { Int64Value } from "./security.ts"

export const ImageSpec = message({
  /** A reference, an id or a digest that the runtime knows. */
  image: field(1, "string"),
  annotations: map(2, "string"),
  userSpecifiedImage: field(18, "string"),
  runtimeHandler: field(19, "string"),
  imageRef: field(20, "string"),
})
export interface ImageSpec extends InitOf<typeof ImageSpec> {}

export const Image = message({
  /** The digest of the image's config: `sha256:…`. */
  id: field(1, "string"),
  repoTags: repeated(2, "string"),
  repoDigests: repeated(3, "string"),
  /** In bytes. */
  size: field(4, "uint64"),
  /** The user that the image sets: a number here, or a name in `username`. */
  uid: field(5, Int64Value),
  username: field(6, "string"),
  spec: field(7, ImageSpec),
  /** Whether the image must not be garbage collected. */
  pinned: field(8, "bool"),
})
export interface Image extends DecodedOf<typeof Image> {}

export const ImageFilter = message({ image: field(1, ImageSpec) })

export const AuthConfig = message({
  username: field(1, "string"),
  password: field(2, "string"),
  /** Base64 of `username:password`. */
  auth: field(3, "string"),
  serverAddress: field(4, "string"),
  identityToken: field(5, "string"),
  registryToken: field(6, "string"),
})
export interface AuthConfig extends InitOf<typeof AuthConfig> {}
