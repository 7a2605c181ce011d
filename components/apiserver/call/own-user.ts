import type { UserInfo } from "./request.ts"

/** The user as whom the server itself acts. */
export const OWN_USER: UserInfo = { name: "system:apiserver", groups: ["system:masters"] }

/** The manager of fields that the server itself writes. */
export const OWN_MANAGER = "kube-apiserver"
