import type { PodCertificateProjection } from "../../../../pkg/api/core/v1/volume/volume-projected.ts"
import { DEFAULT_MODE, type Contents } from "../contents.ts"
import { credentialFile } from "./credential-file.ts"

/** Returns a private key and its certificates, together or apart, as files. Source: pkg/volume/projected. */
export const podCertificateContents = (
  source: PodCertificateProjection,
  index: number,
  defaultMode = DEFAULT_MODE,
): Contents => ({
  references: [{ kind: "PodCertificates", name: "" }],
  fromPod: false,
  hasToken: true,
  async files({ pod, podCertificate }) {
    const { keyPem, chainPem } = await podCertificate(source, index)
    return new Map(
      [
        [source.credentialBundlePath, keyPem + chainPem] as const,
        [source.keyPath, keyPem] as const,
        [source.certificateChainPath, chainPem] as const,
      ].flatMap(([path = "", data]) => (path === "" ? [] : [[path, credentialFile(pod, data, defaultMode)] as const])),
    )
  },
})
