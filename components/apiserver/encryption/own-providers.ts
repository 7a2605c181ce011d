/** The providers for which k3ts makes and keeps keys; k3s knows aescbc (its default) and secretbox. */
export const OWN_PROVIDERS = ["secretbox", "aescbc", "aesgcm"] as const
export type OwnProvider = (typeof OWN_PROVIDERS)[number]
