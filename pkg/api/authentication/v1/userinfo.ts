import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"

/** Source: k8s.io/api authentication/v1/types.go. */

export const UserInfo = message("authentication.v1.UserInfo", "A user as the server knows it.", {
  username: f.string(1, "Name of the user."),
  uid: f.string(2, "Tells users of the same name apart."),
  groups: f.list(3, e.string, "Groups the user is in.").atomic(),
  extra: f.map(4, e.listOf(e.string), "More that the authenticator knows."),
})
export interface UserInfo extends ObjectOf<typeof UserInfo> {}
