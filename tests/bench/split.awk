# What a shell script would do: split the rows and print 34 columns as words.
/^GPU/ {
        printf "%d,%s,GPU", n++, $2
        for (i = 3; i <= 33; i++)
                printf ",%s", $i
        print ""
}
