/** Where a plugin is asked, in the order of a pod's way. Source: kube-scheduler framework/interface.go. */
export const EXTENSION_POINTS = [
  "preEnqueue",
  "queueSort",
  "preFilter",
  "filter",
  "postFilter",
  "preScore",
  "score",
  "reserve",
  "permit",
  "preBind",
  "bind",
  "postBind",
] as const
export type ExtensionPoint = (typeof EXTENSION_POINTS)[number]
