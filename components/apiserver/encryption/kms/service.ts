/** The service of a KMS plugin. Source: k8s.io/kms apis/v2/api.proto. */
import { service } from "../../../../pkg/grpc/rpc.ts"
import { field, map, message } from "../../../../pkg/protobuf/message.ts"

const rpc = service("v2.KeyManagementService")

export const Status = rpc(
  "Status",
  message({}),
  message({ version: field(1, "string"), healthz: field(2, "string"), keyId: field(3, "string") }),
)

export const Decrypt = rpc(
  "Decrypt",
  message({
    ciphertext: field(1, "bytes"),
    uid: field(2, "string"),
    keyId: field(3, "string"),
    annotations: map(4, "bytes"),
  }),
  message({ plaintext: field(1, "bytes") }),
)

export const Encrypt = rpc(
  "Encrypt",
  message({ plaintext: field(1, "bytes"), uid: field(2, "string") }),
  message({ ciphertext: field(1, "bytes"), keyId: field(2, "string"), annotations: map(3, "bytes") }),
)
