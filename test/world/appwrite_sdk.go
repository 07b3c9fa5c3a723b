// Walks through users, teams, documents, files and pictures with Appwrite's SDK for Go, which decodes each response into a struct.
package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/appwrite/sdk-for-go/v7/appwrite"
	"github.com/appwrite/sdk-for-go/v7/client"
	"github.com/appwrite/sdk-for-go/v7/file"
	"github.com/appwrite/sdk-for-go/v7/id"
	"github.com/appwrite/sdk-for-go/v7/permission"
	"github.com/appwrite/sdk-for-go/v7/query"
	"github.com/appwrite/sdk-for-go/v7/role"
)

// Returns the value of a call that has to succeed.
func ok[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(condition bool, said ...any) {
	if !condition {
		panic(fmt.Sprint(said...))
	}
}

func refused(status int, kind string) func(any, error) {
	return func(_ any, err error) {
		var found *client.AppwriteError
		check(errors.As(err, &found), kind, " was expected instead of ", err)
		isOfKind := strings.Contains(found.GetResponse(), `"type":"`+kind+`"`)
		check(found.GetStatusCode() == status && isOfKind, found.GetStatusCode(), found.GetResponse())
	}
}

func main() {
	target := []client.ClientOption{appwrite.WithEndpoint(os.Args[1]), appwrite.WithProject(os.Args[2])}
	guest := appwrite.NewClient(target...)
	server := appwrite.NewClient(append(target, appwrite.WithKey(os.Getenv("WORLD_KEY")))...)

	users := appwrite.NewUsers(server)
	user := ok(users.Create("go-ada", users.WithCreateEmail("go-ada@example.com"), users.WithCreatePassword("tall-bicycle"), users.WithCreateName("Ada")))
	check(user.Id == "go-ada" && user.Status && !user.EmailVerification, user)
	ok(users.UpdateLabels("go-ada", []string{"gold"}))
	ok(users.UpdatePrefs("go-ada", map[string]any{"theme": "dark"}))
	ok(users.UpdatePhone("go-ada", "+14155550100"))
	check(ok(users.List(users.WithListQueries([]string{query.Equal("name", "Ada")}))).Total == 1)
	check(ok(users.List(users.WithListSearch("go-ada"), users.WithListTotal(false))).Total == 0)
	ok(users.CreateJWT("go-ada"))
	ok(users.CreateToken("go-ada", users.WithCreateTokenLength(8), users.WithCreateTokenExpire(60)))
	ok(users.ListTargets("go-ada"))
	ok(users.ListMFAFactors("go-ada"))
	ok(users.CreateMFARecoveryCodes("go-ada"))
	refused(409, "user_already_exists")(users.Create("go-ada", users.WithCreateEmail("x@example.com")))

	session := ok(appwrite.NewAccount(server).CreateEmailPasswordSession("go-ada@example.com", "tall-bicycle"))
	ada := appwrite.NewClient(append(target, appwrite.WithSession(session.Secret))...)
	account := appwrite.NewAccount(ada)
	check(ok(account.Get()).Email == "go-ada@example.com")
	ok(account.UpdateName("Ada L"))
	ok(account.UpdatePrefs(map[string]any{}))
	check(ok(account.ListSessions()).Total >= 1)
	ok(account.GetSession("current"))
	ok(account.UpdateSession("current"))
	ok(account.ListLogs())
	ok(account.ListIdentities())
	ok(account.CreateMFAAuthenticator("totp"))
	wrong := appwrite.NewAccount(guest)
	refused(401, "user_invalid_credentials")(wrong.CreateEmailPasswordSession("go-ada@example.com", "wrong-password"))

	teams := appwrite.NewTeams(server)
	ok(teams.Create("go-crew", "Crew", teams.WithCreateRoles([]string{"owner"})))
	membership := ok(teams.CreateMembership("go-crew", []string{"owner"}, teams.WithCreateMembershipUserId("go-ada")))
	check(ok(teams.ListMemberships("go-crew")).Total == 1)
	ok(teams.UpdatePrefs("go-crew", map[string]any{"a": 1}))
	ok(teams.UpdateMembership("go-crew", membership.Id, []string{"owner", "cook"}))
	check(ok(users.ListMemberships("go-ada")).Total == 1)
	ok(users.ListLogs("go-ada"))

	documents(server, ada)
	files(server, guest)

	countries := appwrite.NewLocale(guest)
	check(ok(countries.ListCountries()).Total > 190)
	ok(countries.Get())
	ok(countries.ListCurrencies())
	ok(countries.ListLanguages())
	pictures := appwrite.NewAvatars(guest)
	check(len(*ok(pictures.GetQR("hello"))) > 100)
	check(len(*ok(pictures.GetInitials(pictures.WithGetInitialsName("Ada L")))) > 100)

	hooks := appwrite.NewWebhooks(server)
	ok(hooks.Create("go-hook", "https://hooks.example.com/", "Hook", []string{"documentCreated"}))
	check(ok(hooks.List()).Total == 1)
	ok(hooks.Delete("go-hook"))

	ok(users.Delete("go-ada"))
	refused(401, "general_unauthorized_scope")(account.Get())
	fmt.Println("done")
}

// What a document of the collection has of its own.
type post struct {
	Title string   `json:"title"`
	Rank  int      `json:"rank"`
	At    *string  `json:"at"`
	Tags  []string `json:"tags"`
}

func documents(server, ada client.Client) {
	db := appwrite.NewDatabases(server)
	ok(db.Create("go", "Go"))
	access := []string{permission.Read(role.Any()), permission.Create(role.Users(""))}
	ok(db.CreateCollection("go", "posts", "Posts", db.WithCreateCollectionPermissions(access), db.WithCreateCollectionDocumentSecurity(true)))
	ok(db.CreateStringAttribute("go", "posts", "title", 100, true))
	ok(db.CreateIntegerAttribute("go", "posts", "rank", false, db.WithCreateIntegerAttributeMax(100), db.WithCreateIntegerAttributeDefault(0)))
	ok(db.CreateBigIntAttribute("go", "posts", "big", false))
	ok(db.CreateFloatAttribute("go", "posts", "weight", false))
	ok(db.CreateBooleanAttribute("go", "posts", "open", false))
	ok(db.CreateDatetimeAttribute("go", "posts", "at", false))
	ok(db.CreateEmailAttribute("go", "posts", "mail", false))
	ok(db.CreateUrlAttribute("go", "posts", "link", false))
	ok(db.CreateIpAttribute("go", "posts", "ip", false))
	ok(db.CreateEnumAttribute("go", "posts", "kind", []string{"a", "b"}, false))
	ok(db.CreateTextAttribute("go", "posts", "body", false))
	ok(db.CreateVarcharAttribute("go", "posts", "short", 20, false))
	ok(db.CreateStringAttribute("go", "posts", "tags", 20, false, db.WithCreateStringAttributeArray(true)))
	ok(db.UpdateIntegerAttribute("go", "posts", "rank", false, 1, db.WithUpdateIntegerAttributeMax(1000)))
	ok(db.CreateIndex("go", "posts", "by_rank", "key", []string{"rank"}))
	ok(db.GetIndex("go", "posts", "by_rank"))
	ok(db.GetCollection("go", "posts"))
	ok(db.GetAttribute("go", "posts", "kind"))
	check(ok(db.ListAttributes("go", "posts")).Total == 13)
	check(ok(db.ListIndexes("go", "posts")).Total == 1)

	for rank := range 3 {
		ok(db.CreateDocument("go", "posts", fmt.Sprint("p", rank), map[string]any{"title": fmt.Sprint("Post ", rank), "rank": rank, "tags": []string{"x"}}))
	}
	ok(db.UpsertDocument("go", "posts", "p9", db.WithUpsertDocumentData(map[string]any{"title": "Nine", "rank": 9})))
	ok(db.IncrementDocumentAttribute("go", "posts", "p9", "rank", db.WithIncrementDocumentAttributeValue(2)))
	ok(db.UpdateDocument("go", "posts", "p1", db.WithUpdateDocumentData(map[string]any{"at": "2030-01-31T12:00:00.000+00:00"})))
	queries := []string{query.GreaterThan("rank", 0), query.OrderDesc("rank"), query.Limit(2)}
	found := ok(db.ListDocuments("go", "posts", db.WithListDocumentsQueries(queries)))
	check(found.Total == 3 && len(found.Documents) == 2 && found.Documents[0].Id == "p9", found)
	var one post
	check(ok(db.GetDocument("go", "posts", "p1")).Decode(&one) == nil && one.At != nil && one.Tags[0] == "x", one)
	ok(db.CreateDocuments("go", "posts", []any{map[string]any{"$id": "m1", "title": "Many"}, map[string]any{"$id": "m2", "title": "Many"}}))
	ok(db.DeleteDocuments("go", "posts", db.WithDeleteDocumentsQueries([]string{query.Equal("title", "Many")})))
	transaction := ok(db.CreateTransaction())
	ok(db.CreateDocument("go", "posts", "later", map[string]any{"title": "Later"}, db.WithCreateDocumentTransactionId(transaction.Id)))
	ok(db.UpdateTransaction(transaction.Id, db.WithUpdateTransactionCommit(true)))
	ok(db.DeleteDocument("go", "posts", "later"))

	own := appwrite.NewDatabases(ada)
	mine := ok(own.CreateDocument("go", "posts", id.Unique(), map[string]any{"title": "Mine"}))
	ok(own.DeleteDocument("go", "posts", mine.Id))
	refused(401, "user_unauthorized")(own.UpdateDocument("go", "posts", "p0", own.WithUpdateDocumentData(map[string]any{"title": "Stolen"})))
	refused(404, "document_not_found")(db.GetDocument("go", "posts", "none"))
	check(ok(appwrite.NewTablesDB(server).ListRows("go", "posts")).Total == 4)
	ok(appwrite.NewGraphql(server).Query(map[string]any{"query": `{ databasesList { total } }`}))
}

func files(server, guest client.Client) {
	storage := appwrite.NewStorage(server)
	access := storage.WithCreateBucketPermissions([]string{permission.Read(role.Any())})
	ok(storage.CreateBucket("go", "Files", access, storage.WithCreateBucketMaximumFileSize(50_000_000)))
	folder := ok(os.MkdirTemp("", "world"))
	defer os.RemoveAll(folder)
	// Of 42 MB in chunks of 5 MiB, all but the first are sent at once.
	for _, size := range []int{17, 5 << 20, 42_000_000} {
		content := make([]byte, size)
		ok(rand.Read(content))
		path := filepath.Join(folder, "a.bin")
		check(os.WriteFile(path, content, 0o600) == nil)
		uploaded := ok(storage.CreateFile("go", id.Unique(), file.NewInputFile(path, "a.bin")))
		check(uploaded.SizeOriginal == size, uploaded.SizeOriginal)
		check(bytes.Equal(*ok(appwrite.NewStorage(guest).GetFileDownload("go", uploaded.Id)), content), "not the same bytes")
		tokens := appwrite.NewTokens(server)
		token := ok(tokens.CreateFileToken("go", uploaded.Id))
		ok(tokens.Update(token.Id))
		ok(tokens.Delete(token.Id))
	}
	check(ok(storage.ListFiles("go")).Total == 3)
	ok(storage.DeleteBucket("go"))
}
