import type { ServiceAccountTokenProjection } from "../../../../pkg/api/core/v1/volume/volume-projected.ts"
import { DEFAULT_MODE, type Contents } from "../contents.ts"
import { credentialFile } from "./credential-file.ts"

/** Returns a token of the pod's service account as a file. Source: pkg/volume/projected. */
export const tokenContents = (
  { audience = "", expirationSeconds, path }: ServiceAccountTokenProjection,
  defaultMode = DEFAULT_MODE,
): Contents => ({
  references: [],
  fromPod: false,
  hasToken: true,
  async files({ pod, token }) {
    return new Map([[path, credentialFile(pod, await token(audience, expirationSeconds), defaultMode)]])
  },
})
